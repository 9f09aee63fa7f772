// The C interface of the Verilated model, for model.rs.
#include "Vbench.h"
#include "Vbench___024root.h"

// Verilator needs this function for models that print times.
double sc_time_stamp() { return 0; }

extern "C" {
Vbench *bench_new(uint8_t wait_states, uint32_t hertz, uint32_t seed) {
    auto *model = new Vbench;
    model->wait_states_i = wait_states;
    model->hertz_i = hertz;
    model->seed_i = seed;
    // The first evaluation detects no edge, so it comes before reset's two cycles.
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
uint32_t *bench_memory(Vbench *model) {
    // Words of 64 bits are pairs, the low half first.
    return reinterpret_cast<uint32_t *>(&model->rootp->bench__DOT__memory__DOT__words[0]);
}
// At the next edge the time advances by this many more cycles, and mcycle too. A core that reads
// skip_i advances mcycle itself.
void bench_skip(Vbench *model, uint64_t cycles) {
    model->skip_i = cycles;
#ifdef MCYCLE
    model->rootp->MCYCLE += cycles;
#endif
}
// Whether the alarm becomes due at the next edge.
void bench_arrive(Vbench *model, bool arrives) { model->arrive_i = arrives; }
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
