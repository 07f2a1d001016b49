"""PTO: kernels as PTOAS prints them once its tiles have addresses."""
