(* The theorem of the checker. *)
From Coq Require Import ZArith List Lia Bool.
From Verified Require Import Spec Packing Legal Instance Compile Rules Sound Checker.
Import ListNotations.
Open Scope Z_scope.

Definition check p c := match compile p with
  | None => false
  | Some inst => same_sizes (map capacity (pools p)) (sizes c) &&
      match says c with
      | infeasible => true
      | used tops => Nat.eqb (length tops) (length (pools p))
      | costs _ _ _ _ => false
      end && are_proofs inst (fun _ _ _ _ _ => None) (claims p (says c)) (proofs c)
  end.

Theorem check_sound p c : check p c = true -> holds p (says c).
Proof.
  unfold check. destruct (compile p) as [inst|] eqn:E; [|discriminate]. rewrite !andb_true_iff. intros [[_ K] H].
  destruct (compile_sound p inst E) as [S G]. intros ends least x He P L.
  destruct (are_proofs_sound _ _ _ _ H _ He) as [pr R]. cbn [fst snd] in R.
  assert (False) as [].
  eapply (proof_sound inst ends _ x S (G x ends P L)); [|exact R]. discriminate.
Qed.

Print Assumptions check_sound.
