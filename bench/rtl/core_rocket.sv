// Rocket's tile: RV64 with Sv39, five stages, its caches and its page-table walker. The system around
// it in the wheel is not used. The bus is TileLink: A has requests, C lines that are written back, D
// answers. The tile shares its lines with nobody, so the board never probes them (B), and needs no
// acknowledgement of a grant (E).
package core_pkg;
  typedef struct packed {
    logic        a_valid;
    logic [2:0]  a_opcode;
    logic [3:0]  a_size;
    logic [1:0]  a_source;
    logic [31:0] a_address;
    logic [7:0]  a_mask;
    logic [63:0] a_data;
    logic        c_valid;
    logic [2:0]  c_opcode;
    logic [3:0]  c_size;
    logic [1:0]  c_source;
    logic [31:0] c_address;
    logic [63:0] c_data;
    logic        d_ready;
  } request_t;

  typedef struct packed {
    logic        a_ready;
    logic        c_ready;
    logic        d_valid;
    logic [2:0]  d_opcode;
    logic [3:0]  d_size;
    logic [1:0]  d_source;
    logic [63:0] d_data;
  } response_t;

  // The debug ROM of `debug.sv` for a core that cannot write its data cache back. The core itself
  // loads and stores the words that the probe asks for, until the probe gives it an address to go
  // on at. An address with bit 0 set asks for a word: bit 1 is set for a store.
  function automatic logic [63:0] rom(input logic [3:0] pair);
    case (pair)
      0:  return {32'h0080_006f, 32'h00a0_2023};  // sw a0, Operation(x0); j start
      // An exception in debug mode comes here; the probe asks for no word that could cause one.
      1:  return {32'h7b25_9073, 32'h0000_006f};  // j .; start: csrw dscratch0, a1
      2:  return {32'h00a0_2223, 32'h7b10_2573};  // csrr a0, dpc; sw a0, StoppedAt(x0)
      3:  return {32'h00c0_6583, 32'h00b0_2423};  // sw a1, Argument(x0); next: lwu a1, GoOnAt(x0)
      4:  return {32'h0205_0463, 32'h0015_f513};  // andi a0, a1, 1; beqz a0, leave
      5:  return {32'h0005_1863, 32'h0025_f513};  // andi a0, a1, 2; bnez a0, store
      6:  return {32'h00a0_2423, 32'hfff5_a503};  // lw a0, -1(a1); sw a0, Argument(x0)
      7:  return {32'h0100_2503, 32'hfe5f_f06f};  // j next; store: lw a0, Answer(x0)
      8:  return {32'h00a0_2423, 32'hfea5_aea3};  // sw a0, -3(a1); sw a0, Argument(x0)
      9:  return {32'h7b15_9073, 32'hfd5f_f06f};  // j next; leave: csrw dpc, a1
      10: return {32'h0000_a537, 32'h7b20_25f3};  // csrr a1, dscratch0; lui a0, 10: ebreakm, ebreaks
      11: return {32'h0100_2503, 32'h7b05_2073};  // csrs dcsr, a0; lw a0, Answer(x0)
      12: return {32'h0000_006f, 32'h7b20_0073};  // dret; j .
      default: return {2{32'h0000_006f}};         // j .
    endcase
  endfunction
endpackage

module core (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  output core_pkg::request_t   request_o,
  input  core_pkg::response_t  response_i,
  input  logic                 software_irq_i,
  input  logic                 external_irq_i,
  input  logic                 debug_req_i,
  output logic                 sleep_o
);
  // The interrupts: 0 requests debug mode, 1 has machine mode's software and timer, 2 machine mode's
  // external one, 3 the supervisor's.
  RocketTile tile (
    .clock(clk_i), .reset(!rst_ni), .auto_hartid_in(1'b0), .auto_wfi_out_0(),
    .auto_int_local_in_0_0(debug_req_i),
    .auto_int_local_in_1_0(software_irq_i), .auto_int_local_in_1_1(1'b0),
    .auto_int_local_in_2_0(1'b0), .auto_int_local_in_3_0(external_irq_i),

    .auto_tl_other_masters_out_a_valid(request_o.a_valid),
    .auto_tl_other_masters_out_a_ready(response_i.a_ready),
    .auto_tl_other_masters_out_a_bits_opcode(request_o.a_opcode),
    .auto_tl_other_masters_out_a_bits_param(),
    .auto_tl_other_masters_out_a_bits_size(request_o.a_size),
    .auto_tl_other_masters_out_a_bits_source(request_o.a_source),
    .auto_tl_other_masters_out_a_bits_address(request_o.a_address),
    .auto_tl_other_masters_out_a_bits_mask(request_o.a_mask),
    .auto_tl_other_masters_out_a_bits_data(request_o.a_data),

    .auto_tl_other_masters_out_b_ready(), .auto_tl_other_masters_out_b_valid(1'b0),
    .auto_tl_other_masters_out_b_bits_opcode('0), .auto_tl_other_masters_out_b_bits_param('0),
    .auto_tl_other_masters_out_b_bits_size('0), .auto_tl_other_masters_out_b_bits_source('0),
    .auto_tl_other_masters_out_b_bits_address('0), .auto_tl_other_masters_out_b_bits_mask('0),
    .auto_tl_other_masters_out_b_bits_corrupt('0),

    .auto_tl_other_masters_out_c_valid(request_o.c_valid),
    .auto_tl_other_masters_out_c_ready(response_i.c_ready),
    .auto_tl_other_masters_out_c_bits_opcode(request_o.c_opcode),
    .auto_tl_other_masters_out_c_bits_param(),
    .auto_tl_other_masters_out_c_bits_size(request_o.c_size),
    .auto_tl_other_masters_out_c_bits_source(request_o.c_source),
    .auto_tl_other_masters_out_c_bits_address(request_o.c_address),
    .auto_tl_other_masters_out_c_bits_data(request_o.c_data),

    // A grant is exclusive: its parameter is 0, "to the tip".
    .auto_tl_other_masters_out_d_valid(response_i.d_valid),
    .auto_tl_other_masters_out_d_ready(request_o.d_ready),
    .auto_tl_other_masters_out_d_bits_opcode(response_i.d_opcode),
    .auto_tl_other_masters_out_d_bits_param('0),
    .auto_tl_other_masters_out_d_bits_size(response_i.d_size),
    .auto_tl_other_masters_out_d_bits_source(response_i.d_source),
    .auto_tl_other_masters_out_d_bits_sink('0), .auto_tl_other_masters_out_d_bits_denied('0),
    .auto_tl_other_masters_out_d_bits_data(response_i.d_data),
    .auto_tl_other_masters_out_d_bits_corrupt('0),

    .auto_tl_other_masters_out_e_ready(1'b1), .auto_tl_other_masters_out_e_valid(),
    .auto_tl_other_masters_out_e_bits_sink()
  );
  // The tile's own output comes a cycle later: the core could be awake already.
  assign sleep_o = tile.core_io_wfi;
endmodule
