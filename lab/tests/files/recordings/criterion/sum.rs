//! A sum of a thousand numbers, timed by criterion.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};

fn sums(criterion: &mut Criterion) {
    criterion.bench_function("sum", |timed| {
        timed.iter(|| (0..1000).map(black_box::<u64>).sum::<u64>());
    });
}

fn quick() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
}

criterion_group! { name = benches; config = quick(); targets = sums }
criterion_main!(benches);
