(* The theorem of the checker. *)
From Coq Require Import ZArith List Lia Bool.
From Verified Require Import Spec Packing Legal Instance Compile Rules Sound Checker.
Import ListNotations.
Open Scope Z_scope.

Definition check p c := match compile p with
  | None => false
  | Some inst => same_sizes (map capacity (pools p)) (sizes c) && match says c with
      | costs _ _ => false
      | used tops => Nat.eqb (length tops) (length (pools p)) &&
          are_proofs inst (fun _ _ _ _ => None) (expected p (says c)) (proofs c)
      | infeasible => are_proofs inst (fun _ _ _ _ => None) (expected p (says c)) (proofs c)
      end
  end.

Theorem check_sound p c : check p c = true -> holds p (says c).
Proof.
  unfold check. destruct (compile p) as [inst|] eqn:E; [|discriminate]. rewrite andb_true_iff. intros [_ H].
  destruct (compile_sound p inst E) as [S G].
  assert (K : are_proofs inst (fun _ _ _ _ => None) (expected p (says c)) (proofs c) = true ->
    forall x e, is_plan p x -> In e (expected p (says c)) -> ~ ends_by p x e).
  { intros A x e P He L. destruct (are_proofs_sound _ _ _ _ A e He) as [pr R].
    eapply (proof_sound inst e _ x S (G x e P L)); [|exact R]. discriminate. }
  destruct (says c) as [|tops|k d] eqn:C; [| |discriminate].
  - intros x P. apply K; auto. now left.
  - apply andb_true_iff in H as [_ H]. intros x q top P N T. apply K; auto. simpl. apply -> in_rev.
    apply in_flat_map. exists (q, top). split; [now apply numbered_in|]. cbn [fst snd].
    rewrite (proj2 (Z.ltb_lt _ _) T). now left.
Qed.

Print Assumptions check_sound.
