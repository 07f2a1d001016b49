(* The checker as OCaml. Numbers are integers of zarith, with the functions of numbers.ml. *)
From Coq Require Import ZArith Extraction ExtrOcamlBasic ExtrOcamlZBigInt.
From Verified Require Import Main.
Extract Inductive positive => "Numbers.t"
  ["Numbers.twice_and_one" "Numbers.twice" "Numbers.one"] "Numbers.of_positive".
Extract Inductive Z => "Numbers.t" ["Numbers.zero" "" "Numbers.negated"] "Numbers.of_integer".
Extract Inductive N => "Numbers.t" ["Numbers.zero" ""] "Numbers.of_natural".
Extract Constant Z.leb => "Big_int_Z.le_big_int".
Extract Constant Z.ltb => "Big_int_Z.lt_big_int".
Extract Constant Z.gcd => "Big_int_Z.gcd_big_int".
(* Nothing calls these functions once those of ExtrOcamlZBigInt are replaced, but Coq extracts them. *)
Extract Constant Pos.add_carry => "Numbers.uncalled".
Extract Constant Pos.succ_double_mask => "Numbers.uncalled".
Extract Constant Pos.double_mask => "Numbers.uncalled".
Extract Constant Pos.double_pred_mask => "Numbers.uncalled".
Extract Constant Pos.sub_mask => "Numbers.uncalled".
Extract Constant Pos.sub_mask_carry => "Numbers.uncalled".
Extract Constant Pos.size_nat => "Numbers.uncalled".
Extract Constant Pos.eqb => "Numbers.uncalled".
Extract Constant Pos.gcdn => "Numbers.uncalled".
Extract Constant Pos.gcd => "Numbers.uncalled".
Extract Constant Z.double => "Numbers.uncalled".
Extract Constant Z.succ_double => "Numbers.uncalled".
Extract Constant Z.pred_double => "Numbers.uncalled".
Extract Constant Z.pos_sub => "Numbers.uncalled".
Extract Constant Z.pos_div_eucl => "Numbers.uncalled".
Set Printing Width 120.
Extraction "proved.ml" Main.check.
