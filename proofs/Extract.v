(* The checker as OCaml. Numbers are integers of zarith, with the functions of numbers.ml. *)
From Coq Require Import ZArith Extraction ExtrOcamlBasic.
From Verified Require Import Main.
Extract Inductive positive => "Numbers.t"
  ["Numbers.twice_and_one" "Numbers.twice" "Numbers.one"] "Numbers.of_positive".
Extract Inductive Z => "Numbers.t" ["Numbers.zero" "" "Numbers.opp"] "Numbers.of_integer".
Extract Inductive N => "Numbers.t" ["Numbers.zero" ""] "Numbers.of_natural".
Extract Inlined Constant Pos.succ => "Numbers.succ".
Extract Inlined Constant Z.add => "Numbers.add".
Extract Inlined Constant Z.opp => "Numbers.opp".
Extract Inlined Constant Z.sub => "Numbers.sub".
Extract Inlined Constant Z.mul => "Numbers.mul".
Extract Inlined Constant Z.leb => "Numbers.leb".
Extract Inlined Constant Z.ltb => "Numbers.ltb".
Extract Inlined Constant Z.eqb => "Numbers.eqb".
Extract Inlined Constant Z.max => "Numbers.max".
Extract Inlined Constant Z.min => "Numbers.min".
Extract Inlined Constant Z.abs => "Numbers.abs".
Extract Inlined Constant Z.gcd => "Numbers.gcd".
Extract Inlined Constant Z.div => "Numbers.div".
Extract Inlined Constant Z.modulo => "Numbers.modulo".
(* Only replaced functions call these, but Coq would extract them. There is no Numbers.uncalled. *)
Extract Inlined Constant Pos.add => "Numbers.uncalled".
Extract Inlined Constant Pos.add_carry => "Numbers.uncalled".
Extract Inlined Constant Pos.succ_double_mask => "Numbers.uncalled".
Extract Inlined Constant Pos.double_mask => "Numbers.uncalled".
Extract Inlined Constant Pos.double_pred_mask => "Numbers.uncalled".
Extract Inlined Constant Pos.sub_mask => "Numbers.uncalled".
Extract Inlined Constant Pos.sub_mask_carry => "Numbers.uncalled".
Extract Inlined Constant Pos.sub => "Numbers.uncalled".
Extract Inlined Constant Pos.mul => "Numbers.uncalled".
Extract Inlined Constant Pos.size_nat => "Numbers.uncalled".
Extract Inlined Constant Pos.compare_cont => "Numbers.uncalled".
Extract Inlined Constant Pos.compare => "Numbers.uncalled".
Extract Inlined Constant Pos.eqb => "Numbers.uncalled".
Extract Inlined Constant Pos.gcdn => "Numbers.uncalled".
Extract Inlined Constant Pos.gcd => "Numbers.uncalled".
Extract Inlined Constant Z.double => "Numbers.uncalled".
Extract Inlined Constant Z.succ_double => "Numbers.uncalled".
Extract Inlined Constant Z.pred_double => "Numbers.uncalled".
Extract Inlined Constant Z.pos_sub => "Numbers.uncalled".
Extract Inlined Constant Z.compare => "Numbers.uncalled".
Extract Inlined Constant Z.pos_div_eucl => "Numbers.uncalled".
Extract Inlined Constant Z.div_eucl => "Numbers.uncalled".
Set Printing Width 120.
Extraction "proved.ml" Main.check.
