(* The theorem of the checker. *)
From Coq Require Import ZArith List Lia Bool.
From Verified Require Import Spec Packing Legal Instance Compile Rules Sound Costs Checker.
Import ListNotations.
Open Scope Z_scope.

(* Multipliers serve where nothing is said to cost less than k / d. *)
Definition value_of p inst c ends (least : option Z) := match c, least with
  | costs by_ _ d _, Some k => value p inst ends by_ d k
  | _, _ => fun _ _ _ => None
  end.

Definition check p c := match compile p with
  | None => false
  | Some inst => same_sizes (map capacity (pools p)) (sizes c) &&
      match says c with
      | infeasible => true
      | used tops | costs _ _ _ tops => Nat.eqb (length tops) (length (pools p))
      end && are_proofs inst (value_of p inst (says c)) (claims p (says c)) (proofs c)
  end.

Theorem check_sound p c : check p c = true -> holds p (says c).
Proof.
  unfold check. destruct (compile p) as [inst|] eqn:E; [|discriminate]. rewrite !andb_true_iff. intros [_ H].
  destruct (compile_sound p inst E) as [S G]. intros ends least x He P L.
  destruct (are_proofs_sound _ _ _ _ H _ He) as [pr R]. cbn [fst snd] in R.
  destruct (says c) as [|tops|by_ k d tops], least as [l|]; cbn [value_of] in R;
    try (eapply (proof_sound inst ends _ x S (G x ends P L)); [|exact R]; discriminate).
  destruct (Z.le_gt_cases (l * parts p) (d * cost_of p by_ x)) as [Ok|Cheap]; [exact Ok|exfalso].
  eapply (proof_sound inst ends _ x S (G x ends P L)); [|exact R]. intros K HK.
  eapply value_sound; eauto.
Qed.

Print Assumptions check_sound.
