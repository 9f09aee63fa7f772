// The Verilated model, for Rust: see model.rs.
#include "Vbench.h"
#include "Vbench___024root.h"

// Verilator asks for it where models print times.
double sc_time_stamp() { return 0; }

// The counter of cycles: on Ibex a word of 64 bits, on CV32E40P the lowest of an array.
static uint64_t get(const QData &counter) { return counter; }
static void set(QData &counter, uint64_t value) { counter = value; }
template <std::size_t N> uint64_t get(const VlWide<N> &counters) { return counters[0] | uint64_t(counters[1]) << 32; }
template <std::size_t N> void set(VlWide<N> &counters, uint64_t value) {
    counters[0] = EData(value);
    counters[1] = EData(value >> 32);
}

extern "C" {
Vbench *bench_new(uint8_t wait_states, uint32_t hertz, uint32_t seed) {
    auto *model = new Vbench;
    model->wait_states_i = wait_states;
    model->hertz_i = hertz;
    model->seed_i = seed;
    // The first evaluation swallows an edge, so it must see none; then two cycles of reset.
    model->clk_i = 0;
    model->rst_ni = 0;
    model->eval();
    for (int cycle = 0; cycle < 2; cycle++) {
        model->clk_i = 1;
        model->eval();
        model->clk_i = 0;
        model->eval();
    }
    model->rst_ni = 1;
    return model;
}
void bench_free(Vbench *model) {
    model->final();
    delete model;
}
uint32_t bench_cycle(Vbench *model) {
    model->clk_i = 0;
    model->eval();
    model->clk_i = 1;
    model->eval();
    return model->watch_o;
}
uint32_t *bench_memory(Vbench *model) { return model->rootp->bench__DOT__memory__DOT__words.data(); }
void bench_skip(Vbench *model, uint64_t cycles) { model->skip_i = cycles; }
uint64_t bench_mcycle(Vbench *model) { return get(model->rootp->MCYCLE); }
void bench_set_mcycle(Vbench *model, uint64_t value) { set(model->rootp->MCYCLE, value); }
uint64_t bench_time(Vbench *model) { return model->time_o; }
uint64_t bench_due(Vbench *model) { return model->due_o; }
uint32_t bench_retired_pc(Vbench *model) { return model->retired_pc_o; }
void bench_stopped(Vbench *model, uint32_t *at, uint32_t *operation, uint32_t *argument) {
    *at = model->stopped_at_o;
    *operation = model->operation_o;
    *argument = model->argument_o;
}
void bench_go_on(Vbench *model, uint32_t at, uint32_t answer) {
    model->go_on_at_i = at;
    model->answer_i = answer;
}
}
