(* The checker, and the theorem that what it accepts is true. *)
From Coq Require Import ZArith List Lia Bool.
From Verified Require Import Spec Packing Legal Instance Compile Rules Sound.
Import ListNotations.
Open Scope Z_scope.

Inductive line :=
  | time_set (t : Z)
  | list_set (buffers : list Z)
  | worth (scale : Z) (rows : list (Z * nat * Z))
  | rest_lemma (b : Z) (rests lifts : reference) (st : list (Z * lows))
  | pool_lemma (b : Z) (refs : list reference) (st : list (Z * lows)).

Record part := Part {
  claimed : list Z; lines : list line; closing : reference; nowhere : option Z
}.

Record certificate := Certificate { sizes : list (option Z); says : claim; proofs : list part }.

Section Lines.
  Variables (I : instance) (ends : list Z) (value : known -> Z -> list (Z * nat * Z) -> option (state -> bool)).

  Definition add_set K S := Known (M.add (set_count K) S (sets K)) (lemmas K) (worths K)
    (set_count K + 1) (lemma_count K) (worth_count K).
  Definition add_lemma K m := Known (sets K) (M.add (lemma_count K) (M.elements m) (lemmas K)) (worths K)
    (set_count K) (lemma_count K + 1) (worth_count K).
  Definition add_worth K f := Known (sets K) (lemmas K) (M.add (worth_count K) f (worths K))
    (set_count K) (lemma_count K) (worth_count K + 1).

  Definition take K l : option known := match l with
    | time_set t => match set_at I t with Some c => Some (add_set K c) | None => None end
    | list_set ns => match set_of I ns with Some c => Some (add_set K c) | None => None end
    | worth scale rows => match value K scale rows with Some f => Some (add_worth K f) | None => None end
    | rest_lemma b rests lifts st => match read_state I ends st with
        | Some m => if rests_or_lifts I ends K b rests lifts m then Some (add_lemma K m) else None
        | None => None
        end
    | pool_lemma b refs st => match read_state I ends st with
        | Some m => if is_nowhere ends K b refs m then Some (add_lemma K m) else None
        | None => None
        end
    end.

  Fixpoint take_all K ls := match ls with
    | [] => Some K
    | l :: t => match take K l with Some more => take_all more t | None => None end
    end.

  Definition is_proof p := match take_all nothing_known (lines p) with
    | Some K => refuted ends K (at_first I ends) (closing p) match nowhere p with Some i => [i] | None => [] end
    | None => false
    end.

  Variable x : plan.
  Hypothesis S_ : sound I.
  Hypothesis G_ : good I ends x.
  Hypothesis V_ : forall K, known_holds I x K -> forall s r f, value K s r = Some f -> worth_holds x f.

  Lemma lemma_kept m : (above x (in_map m) -> False) -> lemma_holds x (M.elements m).
  Proof using. intros H L. apply H. intros i l E. apply L. now apply F.elements_o. Qed.

  Lemma take_sound K l K' : known_holds I x K -> take K l = Some K' -> known_holds I x K'.
  Proof using S_ G_ V_.
    intros H T. destruct l as [t|ns|scale rows|b rests lifts st|b refs st]; simpl in T.
    - destruct (set_at I t) as [S|] eqn:E; [|discriminate]. injection T as <-. split; try apply H. simpl.
      intros k C. rewrite F.add_o. destruct (OrderedTypeEx.Z_as_OT.eq_dec _ _); [|apply H].
      intros [= <-]. eapply set_at_sound; eauto.
    - destruct (set_of I ns) as [S|] eqn:E; [|discriminate]. injection T as <-. split; try apply H. simpl.
      intros k C. rewrite F.add_o. destruct (OrderedTypeEx.Z_as_OT.eq_dec _ _); [|apply H].
      intros [= <-]. eapply set_of_sound; eauto.
    - destruct (value K scale rows) as [f|] eqn:E; [|discriminate]. injection T as <-. split; try apply H. simpl.
      intros k C. rewrite F.add_o. destruct (OrderedTypeEx.Z_as_OT.eq_dec _ _); [|apply H].
      intros [= <-]. eapply V_; eauto.
    - destruct (read_state I ends st) as [m|]; [|discriminate]. destruct (rests_or_lifts _ _ _ _ _ _ _) eqn:E;
      [|discriminate].
      injection T as <-. split; try apply H. simpl. intros k L. rewrite F.add_o.
      destruct (OrderedTypeEx.Z_as_OT.eq_dec _ _); [|apply H]. intros [= <-]. apply lemma_kept. eapply rests_sound;
        eauto.
    - destruct (read_state I ends st) as [m|]; [|discriminate]. destruct (is_nowhere _ _ _ _ _) eqn:E; [|discriminate].
      injection T as <-. split; try apply H. simpl. intros k L. rewrite F.add_o.
      destruct (OrderedTypeEx.Z_as_OT.eq_dec _ _); [|apply H]. intros [= <-]. apply lemma_kept. eapply nowhere_sound;
        eauto.
  Qed.

  Lemma take_all_sound ls : forall K K', known_holds I x K -> take_all K ls = Some K' -> known_holds I x K'.
  Proof using S_ G_ V_.
    induction ls as [|l t IH]; simpl; intros K K' H T; [now injection T as <-|].
    destruct (take K l) as [more|] eqn:E; [|discriminate]. exact (IH more K' (take_sound K l more H E) T).
  Qed.

  Lemma nothing_holds : known_holds I x nothing_known.
  Proof using. split; simpl; intros k ?; now rewrite F.empty_o. Qed.

  Lemma proof_sound p : is_proof p = true -> False.
  Proof using S_ G_ V_.
    unfold is_proof. destruct (take_all _ _) as [K|] eqn:T; [|discriminate]. intros R.
    eapply refuted_sound; eauto; [eapply take_all_sound; eauto; apply nothing_holds|now apply first_sound].
  Qed.
End Lines.

Fixpoint same_list (k l : list Z) := match k, l with
  | [], [] => true
  | a :: k, b :: l => (a =? b) && same_list k l
  | _, _ => false
  end.

Fixpoint are_proofs I value (expected : list (list Z * option Z)) parts := match expected, parts with
  | [], [] => true
  | e :: es, p :: ps =>
      same_list (fst e) (claimed p) && is_proof I (fst e) (value (fst e) (snd e)) p && are_proofs I value es ps
  | _, _ => false
  end.

Lemma are_proofs_sound I value es : forall ps, are_proofs I value es ps = true ->
  forall e, In e es -> exists p, is_proof I (fst e) (value (fst e) (snd e)) p = true.
Proof.
  induction es as [|a es IH]; intros [|p ps]; simpl; try discriminate; [intros _ e []|].
  rewrite !andb_true_iff. intros [[_ H] T] e [<-|He]; eauto.
Qed.

Fixpoint same_sizes (k l : list (option Z)) := match k, l with
  | [], [] => true
  | Some a :: k, Some b :: l => (a =? b) && same_sizes k l
  | None :: k, None :: l => same_sizes k l
  | _, _ => false
  end.
