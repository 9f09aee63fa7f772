// The files of the wheel in the model besides the configuration's own, relative to its folder
// verilog.
vsrc/plusarg_reader.v
