// The debug probe's semihosting, by the core's own debug mode. The board requests debug mode from
// reset on. In debug mode the core runs this ROM: it shows its registers to the probe, reads from
// it the address to continue at and the answer, sets `ebreak` to enter debug mode again, and
// leaves.
module debug (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        we_i,
  input  logic [11:0] addr_i,
  input  logic [31:0] wdata_i,
  output logic [31:0] rdata_o,

  input  logic [5:0]  fetch_addr_i,
  output logic [31:0] fetch_rdata_o,

  output logic        debug_req_o,
  output logic        call_o,
  output logic [31:0] operation_o,
  output logic [31:0] argument_o,
  output logic [31:0] stopped_at_o,
  input  logic [31:0] go_on_at_i,
  input  logic [31:0] answer_i
);
  localparam logic [11:0] Operation = 12'h000, StoppedAt = 12'h004, Argument = 12'h008,
    GoOnAt = 12'h00c, Answer = 12'h010;

  // The ROM, at 0x800, where the core enters debug mode. Its address and the registers' are
  // arbitrary within reach of x0 by a 12-bit immediate.
  function automatic logic [31:0] rom(input logic [5:0] word);
    case (word)
      0:  return 32'h00a0_2023;  //    sw    a0, Operation(x0)
      1:  return 32'h7b10_2573;  //    csrr  a0, dpc
      2:  return 32'h00a0_2223;  //    sw    a0, StoppedAt(x0)
      3:  return 32'h00b0_2423;  //    sw    a1, Argument(x0)    the probe answers now
      4:  return 32'h00c0_2503;  //    lw    a0, GoOnAt(x0)
      5:  return 32'h7b15_1073;  //    csrw  dpc, a0
      6:  return 32'h0000_8537;  //    lui   a0, 8               1 << 15: ebreakm
      7:  return 32'h7b05_2073;  //    csrs  dcsr, a0
      8:  return 32'h0100_2503;  //    lw    a0, Answer(x0)
      9:  return 32'h7b20_0073;  //    dret
      default: return 32'h0000_006f;  // j .
    endcase
  endfunction
  always_ff @(posedge clk_i) fetch_rdata_o <= rom(fetch_addr_i);

  assign rdata_o = addr_i == GoOnAt ? go_on_at_i : addr_i == Answer ? answer_i : '0;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      debug_req_o  <= 1'b1;
      call_o       <= 1'b0;
      operation_o  <= '0;
      argument_o   <= '0;
      stopped_at_o <= '0;
    end else begin
      call_o <= we_i && addr_i == Argument;
      if (we_i) case (addr_i)
        Operation: begin
          operation_o <= wdata_i;
          debug_req_o <= 1'b0;
        end
        StoppedAt: stopped_at_o <= wdata_i;
        Argument:  argument_o <= wdata_i;
        default: ;
      endcase
    end
endmodule
