(* The checker as OCaml, with integers of zarith. *)
From Coq Require Import ZArith Extraction ExtrOcamlBasic ExtrOcamlZBigInt.
From Verified Require Import Main.
Extract Constant Z.leb => "Big_int_Z.le_big_int".
Extract Constant Z.ltb => "Big_int_Z.lt_big_int".
Extract Constant Z.gcd => "Big_int_Z.gcd_big_int".
Extraction "proved.ml" Main.check.
