// The memory and the bus of CVA6: 32 MiB at 0x8000_0000 in words of 64 bits, and the way to
// registers of 32 bits at other addresses. One read and one write at a time.
//
// The program's registers show the same 32 bits in both halves of a word; the debug ROM has 64.
//
// A burst of the memory takes `wait_states_i` cycles, then one for each word. A register is accessed
// in one cycle and answers in the next.
module memory (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [2:0]        wait_states_i,
  input  ariane_axi::req_t  request_i,
  output ariane_axi::resp_t response_o,

  output logic              register_req_o,
  output logic              register_we_o,
  output logic [31:0]       register_addr_o,
  output logic [31:0]       register_wdata_o,
  input  logic [63:0]       register_rdata_i
);
  localparam int unsigned Words = 32 * 1024 * 1024 / 8;
  logic [63:0] words [Words] /* verilator public_flat_rd */;

  function automatic logic in_memory(input logic [63:0] address);
    return address[63:25] == 39'h40;
  endfunction
  function automatic logic [21:0] index(input logic [63:0] address);
    return address[24:3];
  endfunction
  // The address of the next word of a burst. A burst that wraps stays in its line.
  function automatic logic [63:0] following(input logic [63:0] address, input logic [7:0] length,
                                       input logic wraps);
    logic [63:0] line;
    line = (64'(length) + 64'd1) * 64'd8 - 64'd1;
    return wraps ? (address & ~line) | ((address + 64'd8) & line) : address + 64'd8;
  endfunction

  // ---- writes
  logic        writes, answers;
  logic [63:0] write_at;
  logic [7:0]  write_length;
  logic        write_wraps;
  logic [3:0]  write_id;
  wire write_beat    = writes && request_i.w_valid;
  wire write_device  = write_beat && !in_memory(write_at);
  wire write_high    = request_i.w.strb[3:0] == 4'b0;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      writes       <= 1'b0;
      answers      <= 1'b0;
      write_at     <= '0;
      write_length <= '0;
      write_wraps  <= 1'b0;
      write_id     <= '0;
    end else begin
      if (answers && request_i.b_ready) answers <= 1'b0;
      if (!writes && !answers && request_i.aw_valid) begin
        writes       <= 1'b1;
        write_at     <= request_i.aw.addr & ~64'd7;
        write_length <= request_i.aw.len;
        write_wraps  <= request_i.aw.burst == axi_pkg::BURST_WRAP;
        write_id     <= request_i.aw.id;
      end
      if (write_beat) begin
        write_at <= following(write_at, write_length, write_wraps);
        if (request_i.w.last) begin
          writes  <= 1'b0;
          answers <= 1'b1;
        end
      end
    end
  always_ff @(posedge clk_i)
    if (write_beat && in_memory(write_at))
      for (int i = 0; i < 8; i++)
        if (request_i.w.strb[i]) words[index(write_at)][i*8 +: 8] <= request_i.w.data[i*8 +: 8];

  // ---- reads
  logic        reads, read_wraps, read_device;
  logic [63:0] read_at;
  logic [7:0]  read_length, read_left;
  logic [3:0]  read_id;
  logic [2:0]  waited;
  logic [63:0] register_q;
  wire read_ready  = !reads && !write_device;
  wire read_starts = read_ready && request_i.ar_valid;
  wire read_beat   = reads && (read_device || waited >= wait_states_i);
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) begin
      reads       <= 1'b0;
      read_wraps  <= 1'b0;
      read_device <= 1'b0;
      read_at     <= '0;
      read_length <= '0;
      read_left   <= '0;
      read_id     <= '0;
      waited      <= '0;
      register_q  <= '0;
    end else if (read_starts) begin
      reads       <= 1'b1;
      read_wraps  <= request_i.ar.burst == axi_pkg::BURST_WRAP;
      read_device <= !in_memory(request_i.ar.addr);
      read_at     <= request_i.ar.addr & ~64'd7;
      read_length <= request_i.ar.len;
      read_left   <= request_i.ar.len;
      read_id     <= request_i.ar.id;
      waited      <= '0;
      register_q  <= register_rdata_i;
    end else if (reads && !read_beat) waited <= waited + 3'd1;
    else if (read_beat && request_i.r_ready) begin
      read_at   <= following(read_at, read_length, read_wraps);
      read_left <= read_left - 8'd1;
      if (read_left == 0) reads <= 1'b0;
    end

  always_comb begin
    response_o = '0;
    response_o.aw_ready = !writes && !answers;
    response_o.w_ready  = writes;
    response_o.b_valid  = answers;
    response_o.b.id     = write_id;
    response_o.ar_ready = read_ready;
    response_o.r_valid  = read_beat;
    response_o.r.id     = read_id;
    response_o.r.last   = read_left == 0;
    response_o.r.data   = read_device ? register_q : words[index(read_at)];
  end

  assign register_we_o    = write_device;
  assign register_req_o   = write_device || read_starts && !in_memory(request_i.ar.addr);
  assign register_addr_o  = write_device ? {write_at[31:3], write_high, 2'b0}
                                         : {request_i.ar.addr[31:2], 2'b0};
  assign register_wdata_o = write_high ? request_i.w.data[63:32] : request_i.w.data[31:0];
endmodule
