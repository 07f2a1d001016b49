"""Programs that are run by hand: deep versions of tests that draw their cases."""
