//! Worlds that cannot be compiled, and the names in their errors.

use super::*;

#[test]
fn invalid_worlds_are_refused_by_name() {
    fn refused(change: impl FnOnce(&mut World, &[Entity], &[Entity])) -> String {
        let (mut world, links, joints) = chain(3);
        change(&mut world, &links, &joints);
        Simulation::from_world(world).err().expect("this world must be refused").to_string()
    }
    type Case = (&'static str, Box<dyn FnOnce(&mut World, &[Entity], &[Entity])>);
    let cases: Vec<Case> = vec![
        ("is a link without a `Name`", Box::new(|w, l, _| drop(w.remove_one::<Name>(l[1])))),
        ("is a joint without a `Name`", Box::new(|w, _, j| drop(w.remove_one::<Name>(j[1])))),
        ("`link 0` is used twice", Box::new(|w, l, _| w.get::<&mut Name>(l[2]).unwrap().0 = "link 0".into())),
        ("`joint 0` is used twice", Box::new(|w, _, j| w.get::<&mut Name>(j[2]).unwrap().0 = "joint 0".into())),
        ("joint `joint 1`: its parent", Box::new(|w, _, j| w.get::<&mut Joint>(j[1]).unwrap().parent = Some(j[0]))),
        (
            "joint `joint 2`: its child",
            Box::new(|w, _, j| {
                w.get::<&mut Joint>(j[2]).unwrap().child = Entity::DANGLING;
            }),
        ),
        (
            "the child of two joints, `joint 1` and `joint 2`",
            Box::new(|w, l, j| {
                w.get::<&mut Joint>(j[2]).unwrap().child = l[1];
            }),
        ),
        (
            "joint 0, joint 2, joint 1 form a cycle",
            Box::new(|w, l, j| {
                w.get::<&mut Joint>(j[0]).unwrap().parent = Some(l[2]);
            }),
        ),
        ("link `link 2` is the child of no joint", Box::new(|w, _, j| w.despawn(j[2]).unwrap())),
        (
            "link `link 1` has a non-physical inertia: mass -1",
            Box::new(|w, l, _| {
                w.get::<&mut Link>(l[1]).unwrap().mass = -1.0;
            }),
        ),
        (
            "joint `joint 1` has an axis of length zero",
            Box::new(|w, _, j| {
                let axis = Vector3::zeros();
                w.get::<&mut Joint>(j[1]).unwrap().kind = JointKind::Revolute { axis };
            }),
        ),
        ("damping of `joint 1` is -0.1", Box::new(|w, _, j| w.get::<&mut Damping>(j[1]).unwrap().0 = -0.1)),
        (
            "stiffness of `joint 2` is NaN",
            Box::new(|w, _, j| {
                w.insert_one(j[2], Spring { stiffness: f64::NAN, rest: 0.0 }).unwrap();
            }),
        ),
        ("effort of `joint 0` is inf", Box::new(|w, _, j| w.insert_one(j[0], Effort(f64::INFINITY)).unwrap())),
        (
            "position of `joint 0` is NaN",
            Box::new(|w, _, j| {
                w.get::<&mut JointState>(j[0]).unwrap().position = f64::NAN;
            }),
        ),
        (
            "external wrench of `link 2` is NaN",
            Box::new(|w, l, _| {
                let force = Vector3::new(0.0, f64::NAN, 0.0);
                w.insert_one(l[2], ExternalWrench { force, ..Default::default() }).unwrap();
            }),
        ),
        ("`link 1` carries `Effort`, which belongs on", Box::new(|w, l, _| w.insert_one(l[1], Effort(1.0)).unwrap())),
        (
            "`joint 1` carries `ExternalWrench`, which belongs on links",
            Box::new(|w, _, j| {
                w.insert_one(j[1], ExternalWrench::default()).unwrap();
            }),
        ),
        (
            "`joint 1` carries `FreeState`, which belongs on free joints",
            Box::new(|w, _, j| {
                w.insert_one(j[1], FreeState::default()).unwrap();
            }),
        ),
        (
            "`joint 1` carries `JointState`, which belongs on",
            Box::new(|w, _, j| {
                w.get::<&mut Joint>(j[1]).unwrap().kind = JointKind::Fixed;
                w.remove_one::<Damping>(j[1]).unwrap();
            }),
        ),
        ("`joint 1` carries `Load`, but no `Friction`", Box::new(|w, _, j| w.insert_one(j[1], Load::Unit).unwrap())),
        (
            "2 entities carry `Gravity`",
            Box::new(|w, _, _| {
                w.set_gravity([0.0; 3]);
                w.spawn((Gravity::default(),));
            }),
        ),
        ("gravity of `model` is not a finite number", Box::new(|w, _, _| w.set_gravity([f64::NAN, 0.0, 0.0]))),
        (
            "drive of joint `joint 0`",
            Box::new(|w, _, j| {
                let signal = bristle::signal::Signal::Constant(f64::NAN);
                w.insert_one(j[0], Drive::Effort(signal)).unwrap();
            }),
        ),
    ];
    for (expected, change) in cases {
        let message = refused(change);
        assert!(message.contains(expected), "expected `{expected}` in: {message}");
    }
}
