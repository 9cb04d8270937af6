//! The rate of the acceleration of a point, against differences.

use super::*;

#[test]
fn point_jerk_is_the_rate_of_point_acceleration() {
    on_random_trees(30, Mix::Everything, |random, model, work, q, v| {
        let (a, j) = (random.reals(model.n_v, 3.0), random.reals(model.n_v, 3.0));
        let (i, point) = (1 + random.below(model.n_joints()), random.vector(1.0));
        let (gravity, gravity_rate) = (work.outside.gravity, random.vector(5.0));
        work.outside.gravity_rate = gravity_rate;
        rnea_rate(model, work, q, v, &a, &j).unwrap();
        let mut pose = Poses::new(model);
        poses(model, work, &mut pose).unwrap();
        let found = point_jerk(model, work, &pose, i, &point).unwrap();
        let h = 1e-5;
        let mut at = |t: f64| {
            let q = moved(model, q, v, &a, t);
            let v: Vec<f64> = v.iter().zip(&a).zip(&j).map(|((v, a), j)| v + t * a + 0.5 * t * t * j).collect();
            let a: Vec<f64> = a.iter().zip(&j).map(|(a, j)| a + t * j).collect();
            work.outside.gravity = gravity + gravity_rate * t;
            accelerations(model, work, &q, &v, &a).unwrap();
            poses(model, work, &mut pose).unwrap();
            point_acceleration(model, work, &pose, i, &point).unwrap()
        };
        let difference = (at(h) - at(-h)) * (0.5 / h);
        // products of three rates along the chain
        let size = 1.0 + norm(&found.to_array()) + (1.0 + norm(v)).powi(5) * h;
        assert!(norm(&(difference - found).to_array()) <= 2e-5 * size, "{difference:?} {found:?}");
    });
}
