"""memplan inside of Apache TVM: passes of Relax, from outside of its tree. Imports tvm."""
