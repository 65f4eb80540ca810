//! Prints the machine's limits, for one and two threads.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

fn main() {
    for threads in [1, 2] {
        let l = tilewright_benches::peers::machine::limits(threads);
        println!(
            "{} thread(s): f32 {:.1} GFLOP/s, bf16 {:.1} GFLOP/s, int8 {:.1} GOP/s, DRAM read {:.1} GB/s",
            l.threads,
            l.f32_flops / 1e9,
            l.bf16_flops / 1e9,
            l.int8_ops / 1e9,
            l.dram_read / 1e9
        );
    }
}
