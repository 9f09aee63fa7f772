// 1 MiB of flash at 0x8000_0000, followed by 256 KiB of RAM, in one array with two ports. Data are
// available in the next cycle, from RAM and flash alike, and so are instructions from RAM.
// Instructions from flash come in lines of 16 bytes, of which one is kept: a fetch outside of it
// takes `wait_states_i` more cycles. This is the minimum of real flash controllers.
module memory (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [2:0]  wait_states_i,

  input  logic        fetch_req_i,
  input  logic        fetch_ideal_i,
  input  logic [31:0] fetch_addr_i,
  output logic        fetch_gnt_o,
  output logic        fetch_rvalid_o,
  output logic [31:0] fetch_rdata_o,
  output logic        fetch_err_o,

  input  logic        we_i,
  input  logic [3:0]  be_i,
  input  logic [31:0] addr_i,
  input  logic [31:0] wdata_i,
  output logic [31:0] rdata_o,
  output logic        err_o
);
  localparam int unsigned Words = (1024 + 256) * 1024 / 4;
  logic [31:0] words [Words] /* verilator public_flat_rd */;

  function automatic logic outside(input logic [31:0] address);
    return address[31:24] != 8'h80 || 32'(address[23:2]) >= Words;
  endfunction
  function automatic logic [18:0] index(input logic [31:0] address);
    return address[20:2];
  endfunction

  // ---- fetches
  localparam logic [27:0] NoLine = '1;
  logic [27:0] line_q;
  logic [2:0]  waited_q;
  wire in_ram = fetch_addr_i[20];
  wire ready  = in_ram || fetch_ideal_i || line_q == fetch_addr_i[31:4]
                || waited_q >= wait_states_i;
  assign fetch_gnt_o = fetch_req_i && ready;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      line_q         <= NoLine;
      waited_q       <= '0;
      fetch_rvalid_o <= 1'b0;
      fetch_err_o    <= 1'b0;
      fetch_rdata_o  <= '0;
    end else begin
      fetch_rvalid_o <= fetch_gnt_o;
      if (fetch_gnt_o) begin
        fetch_rdata_o <= words[index(fetch_addr_i)];
        fetch_err_o   <= outside(fetch_addr_i);
        waited_q      <= '0;
        if (!in_ram && !fetch_ideal_i) line_q <= fetch_addr_i[31:4];
      end else if (fetch_req_i) waited_q <= waited_q + 3'd1;
    end

  // ---- data
  assign err_o   = outside(addr_i);
  assign rdata_o = words[index(addr_i)];
  always_ff @(posedge clk_i)
    if (we_i && !outside(addr_i)) begin
      if (be_i[0]) words[index(addr_i)][7:0]   <= wdata_i[7:0];
      if (be_i[1]) words[index(addr_i)][15:8]  <= wdata_i[15:8];
      if (be_i[2]) words[index(addr_i)][23:16] <= wdata_i[23:16];
      if (be_i[3]) words[index(addr_i)][31:24] <= wdata_i[31:24];
    end
endmodule
