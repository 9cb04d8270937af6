//! Evaluating a law allocates nothing. A test target of its own, because the allocator is counted process-wide.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use bristle_friction::{Coulomb, Dahl, ElastoPlastic, FrictionLaw, Law, LuGre, LuGre2, Mode, Stribeck, Table, Tanh};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise about `layout` is the one `System` needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: `ptr` came from `alloc` above, hence from `System`, with this `layout`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

#[test]
fn an_evaluation_does_not_allocate() {
    let lugre = LuGre {
        sigma0: 1e5,
        sigma1: 316.0,
        sigma2: 0.4,
        coulomb: 1.0,
        stiction: 1.5,
        stribeck_velocity: Some(1e-3),
        exponent: 1.3,
        damping_velocity: Some(0.1),
    };
    let laws: [Law; 8] = [
        Coulomb { coulomb: 1.0, stiction: 1.5, viscous: 0.4 }.into(),
        Stribeck { coulomb: 1.0, stiction: 1.5, stribeck_velocity: Some(1e-3), exponent: 2.0, viscous: 0.4, peak: 1.1 }
            .into(),
        Table { points: vec![(0.0, 1.5), (0.01, 1.0), (1.0, 1.4)], peak: 1.1 }.into(),
        Tanh { coulomb: 1.0, stribeck_velocity: 1e-3, viscous: 0.4 }.into(),
        Dahl { coulomb: 1.0, sigma0: 1e5 }.into(),
        lugre.into(),
        LuGre2 { lugre, alpha: 3.0, beta: 1.0 }.into(),
        ElastoPlastic { lugre, breakaway: 0.8e-5 }.into(),
    ];
    // the test harness allocates on its own thread now and then: some round must be free of it
    let fewest = (0..100)
        .map(|round| {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            for law in &laws {
                let v = black_box(1e-4 * f64::from(round - 50));
                let state = black_box([0.9, 0.3]);
                black_box((law.evaluate(v, state), law.steady_effort(v), law.time_constant(v)));
                black_box((law.stored_energy(state), law.dissipated_power(v, state), law.initial_state(v)));
                black_box(law.implicit_step(1e-3, v, v, state));
                if let Some(law) = law.event_driven() {
                    black_box((law.stiction_level(), law.sliding(Mode::Forward, v)));
                }
            }
            ALLOCATIONS.load(Ordering::Relaxed) - before
        })
        .min();
    assert_eq!(fewest, Some(0));
}
