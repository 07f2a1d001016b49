(* Every plan of a problem is good for what is compiled of it. *)
From Coq Require Import ZArith List Lia Bool.
From Verified Require Import Spec Packing Legal Instance.
Import ListNotations.
Open Scope Z_scope.

Lemma nth_combine {A} (l : list A) : forall s k q, nth_error l k = Some q ->
  nth_error (combine (seq s (length l)) l) k = Some ((s + k)%nat, q).
Proof.
  induction l as [|a t IH]; intros s [|k] q H; simpl in *; try discriminate.
  - injection H as ->. now rewrite Nat.add_0_r.
  - rewrite (IH (S s) k q H). now rewrite Nat.add_succ_comm.
Qed.

Lemma overlap_sound k l : overlap k l = true -> exists a b c d t,
  In (a, b) k /\ In (c, d) l /\ a <= t < b /\ c <= t < d.
Proof.
  unfold overlap. rewrite existsb_exists. intros ([a b] & Hk & H). apply existsb_exists in H as ([c d] & Hl & H).
  simpl in H. apply Z.ltb_lt in H. exists a, b, c, d, (Z.max a c). repeat split; auto; lia.
Qed.

Lemma overlap_at k l a b c d t : In (a, b) k -> In (c, d) l -> a <= t < b -> c <= t < d -> overlap k l = true.
Proof.
  intros Hk Hl A C. apply existsb_exists. exists (a, b). split; auto. apply existsb_exists. exists (c, d). split; auto.
  apply Z.ltb_lt. simpl. lia.
Qed.

Section Sound.
  Variables (p : problem) (g : M.t (list (row * Z))) (groups : M.t Z) (r_ : relations).
  Let m := number_rows (rows p).
  Let fuel := length (rows p).
  Hypothesis order : ascending (rows p) = true.
  Hypothesis sane : is_sane p = true.
  Hypothesis joined : forallb (joins m fuel groups) (rows p) = true.
  Hypothesis grouped : group_parts m fuel (rows p) = Some g.
  Hypothesis names : pair_up m fuel (conflicts p) = Some (named r_).
  Hypothesis shares : pair_up m fuel (may_share p) = Some (sharing r_).
  Hypothesis tie : ties r_ = has_ties p.

  Lemma found i r : M.find i m = Some r -> In r (rows p) /\ number r = i.
  Proof using. apply number_sound. Qed.

  Lemma finds r : In r (rows p) -> M.find (number r) m = Some r.
  Proof using order. apply number_complete. now apply ascending_pairs. Qed.

  Lemma same r s : In r (rows p) -> In s (rows p) -> number r = number s -> r = s.
  Proof using order. intros R S E. apply finds in R, S. congruence. Qed.

  Definition is_core a r := In r (rows p) /\ alias_of r = None /\ 0 < size r /\ a = core p g groups r.

  Lemma part_in r s d : In (s, d) (parts_of g (number r)) -> In s (rows p) /\ lies_in p (number s) (number r) d.
  Proof using grouped. intros H. eapply parts_sound; eauto. apply found. Qed.

  Lemma not_tied i j : ties r_ = false -> tied p i j -> i = j.
  Proof using shares tie.
    rewrite tie. unfold has_ties. destruct (may_share p); [|discriminate]. intros E.
    induction 1 as [r t j d Hr R L| |? ? _ ?|? ? ? _ ? _ ?]; try congruence. exfalso.
    assert (existsb (fun r => match relative_to r with None => false | _ => true end) (rows p) = true); [|congruence].
    apply existsb_exists. exists r. now rewrite R.
  Qed.

  Lemma meets_sound a b r s : is_core a r -> is_core b s -> meets r_ a b = true ->
    number r <> number s /\ conflict p (number r) (number s).
  Proof using order sane joined grouped names shares tie.
    intros (R & AR & SR & ->) (S & AS & SS & ->). unfold meets. rewrite andb_true_iff, negb_true_iff, Z.eqb_neq. simpl
      id.
    intros [N H]. split; [exact N|]. apply orb_true_iff in H as [H|H].
    - left. eapply pairs_sound; eauto. apply found.
    - right. rewrite andb_true_iff, orb_true_iff, andb_true_iff, !negb_true_iff in H. destruct H as [O T]. split;
      [|split].
      + apply overlap_sound in O as (u & v & u' & v' & t & Hu & Hv & ? & ?). exists t.
        simpl lives in Hu, Hv. apply in_flat_map in Hu as ([x d] & Px & Hu). apply in_flat_map in Hv as ([y e] & Py &
          Hv).
        apply part_in in Px as [? ?], Py as [? ?].
        split; [exists x, d, u, v|exists y, e, u', v']; auto.
      + intros L. destruct T as [T|[_ T]].
        * rewrite tie in T. unfold has_ties in T. destruct (may_share p) eqn:E; [|discriminate].
          destruct L as (? & ? & ? & ? & L & _). simpl in L. tauto.
        * simpl id in T. rewrite (pairs_complete p m finds fuel (may_share p) _ _ _ shares L) in T. discriminate.
      + intros L. destruct T as [T|[T _]].
        * apply N. now apply not_tied.
        * apply Z.eqb_neq in T. apply T. simpl group. now apply (joins_sound p m finds fuel).
  Qed.

  Variables (x : plan) (ends : list Z).
  Hypothesis is_p : is_plan p x.
  Hypothesis ends_p : ends_by p x ends.

  Lemma part_at r s d : In (s, d) (parts_of g (number r)) -> In s (rows p) /\
    pool_of x (number s) = pool_of x (number r) /\ offset x (number s) = offset x (number r) + d.
  Proof using grouped is_p.
    intros H. apply part_in in H as [S L]. split; auto. now apply (lies_in_plan p x).
  Qed.

  Lemma core_apart a b r s : is_core a r -> is_core b s -> meets r_ a b = true ->
    pool_of x (id a) = pool_of x (id b) -> apart (offset x (id a)) (bytes a) (offset x (id b)) (bytes b).
  Proof using order sane joined grouped names shares tie is_p.
    intros A B H. destruct (meets_sound a b r s A B H) as [N C].
    destruct A as (R & AR & SR & ->), B as (S & AS & SS & ->). simpl. destruct is_p as [_ D]. now apply D.
  Qed.

  Lemma core_pin a r k : is_core a r -> pin a = Some k -> offset x (id a) = k.
  Proof using grouped is_p.
    intros (R & AR & SR & ->). simpl. apply one_of_sound. intros h H. unfold pins_of in H.
    apply in_flat_map in H as ([s d] & P & H). simpl in H. apply part_at in P as (S & E & F).
    destruct is_p as [Pl _]. destruct (Pl s S) as (q & _ & _ & _ & _ & _ & _ & Q & _).
    destruct (pinned s) as [k'|] eqn:K; [|destruct H]. destruct H as [<-|[]]. specialize (Q k' eq_refl). lia.
  Qed.

  Lemma core_open a r : is_core a r -> In (pool_of x (id a)) (opens a).
  Proof using grouped is_p.
    intros (R & AR & SR & ->). simpl. destruct is_p as [Pl _]. apply filter_In. split.
    - destruct (Pl r R) as (q & Q & _). apply in_seq. split; [lia|]. simpl. apply nth_error_Some. congruence.
    - apply forallb_forall. intros [s d] P. apply part_at in P as (S & E & F).
      destruct (Pl s S) as (q & _ & Q & _). apply existsb_exists. exists (pool_of x (number r)).
      split; [simpl; congruence|apply Nat.eqb_refl].
  Qed.

  Lemma rules_hold r q : In r (rows p) -> nth_error (pools p) (pool_of x (number r)) = Some q ->
    forall k o, In (k, o) (rules_of q (parts_of g (number r))) -> 0 < k /\ (k | offset x (number r) - o).
  Proof using sane grouped is_p.
    intros R Q k o H. unfold rules_of in H. apply in_flat_map in H as ([s d] & P & H). simpl in H.
    apply part_at in P as (S & E & F). destruct is_p as [Pl _].
    destruct (Pl s S) as (q' & Q' & _ & _ & A & B & C & _). rewrite E, Q in Q'. injection Q' as <-.
    unfold is_sane in sane. apply andb_true_iff in sane as [S1 S2]. rewrite forallb_forall in S1, S2.
    specialize (S1 s S). specialize (S2 q (nth_error_In _ _ Q)). rewrite !andb_true_iff, !Z.ltb_lt in *.
    apply in_app_or in H as [H|[[= <- <-]|[[= <- <-]|[]]]].
    - destruct (offset_mod s) as [[k' o']|]; [|destruct H]. destruct H as [[= <- <-]|[]].
      specialize (C k' o' eq_refl). destruct S1 as [[_ M] _]. apply Z.ltb_lt in M. split; [exact M|].
      rewrite F in C. now replace (offset x (number r) - (o' - d)) with (offset x (number r) + d - o') by lia.
    - split; [tauto|]. rewrite F in A. now replace (offset x (number r) - (- base_address q - d))
        with (base_address q + (offset x (number r) + d)) by lia.
    - split; [tauto|]. rewrite F in B. now replace (offset x (number r) - (- base_address q - d))
        with (base_address q + (offset x (number r) + d)) by lia.
  Qed.

  Lemma bars_hold r q from until : In r (rows p) -> 0 < size r -> nth_error (pools p) (pool_of x (number r)) = Some q ->
    In (from, until) (bars_of q) ->
    from <= until /\ (offset x (number r) + size r <= from \/ until <= offset x (number r)).
  Proof using is_p.
    intros R SR Q H. unfold bars_of in H. apply in_flat_map in H as ([f l] & P & H). simpl in H.
    destruct (0 <? l) eqn:L; [|destruct H]. apply Z.ltb_lt in L. destruct H as [[= <- <-]|[]]. split; [lia|].
    destruct is_p as [Pl _]. destruct (Pl r R) as (q' & Q' & _ & _ & _ & _ & _ & _ & _ & C). rewrite Q in Q'.
    injection Q' as <-. destruct (C SR) as [_ C']. specialize (C' f l P L). unfold apart in C'. lia.
  Qed.

  Lemma walls_of_one n b k o : In (k, o) (wall n b) -> pin b = Some k /\ opens b = [n] /\ o = k + bytes b.
  Proof using.
    unfold wall. destruct (pin b) as [h|]; [|intros []]. destruct (opens b) as [|q [|? ?]]; try intros [].
    destruct (Nat.eqb q n) eqn:E; [|intros []]. apply Nat.eqb_eq in E. subst. intros [[= <- <-]|[]]. auto.
  Qed.

  Lemma wall_holds b s n k o : is_core b s -> In (k, o) (wall n b) ->
    pool_of x (id b) = n /\ offset x (id b) = k /\ o = k + bytes b.
  Proof using grouped is_p.
    intros B H. apply walls_of_one in H as (P & O & E). pose proof (core_open b s B) as C. rewrite O in C.
    destruct C as [C|[]]. rewrite (core_pin b s k B P). auto.
  Qed.

  Lemma spot_sound fixed a r q : is_core a r -> (forall b, In b fixed -> exists s, is_core b s) ->
    nth_error (pools p) (pool_of x (id a)) = Some q ->
    exists sp, spot_of r_ fixed a (pool_of x (id a)) q (parts_of g (id a)) = Some sp /\ 0 < step sp /\
      is_legal (bytes a) (pin a) (page a) sp (offset x (id a)).
  Proof using order sane joined grouped names shares tie is_p.
    intros A Fx Q. pose proof (core_open a r A) as O. pose proof A as (R & AR & SR & E).
    assert (I : id a = number r) by now rewrite E. assert (B : bytes a = size r) by now rewrite E.
    unfold spot_of. assert (existsb (Nat.eqb (pool_of x (id a))) (opens a) = true) as ->.
    { apply existsb_exists. eexists; split; [exact O|apply Nat.eqb_refl]. }
    cbn [negb].
    destruct (narrow_all_sound (offset x (id a)) (rules_of q (parts_of g (id a))) 1 0) as (s & t & N & S & D);
      [lia|apply Z.divide_1_l| |].
    { intros k o H. rewrite I in *. now apply (rules_hold r q). }
    rewrite N. assert (Pg : forall k, page a = Some k -> 0 < k /\ (base_address q + offset x (id a)) mod k + bytes a <=
      k).
    { intros k K. rewrite E in K. simpl in K. rewrite I, B. destruct is_p as [Pl _].
      destruct (Pl r R) as (q' & Q' & _ & _ & _ & _ & _ & _ & _ & C). rewrite <- I, Q in Q'. injection Q' as <-.
      destruct (C SR) as [C' _]. split; [|now apply C'].
      unfold is_sane in sane. apply andb_true_iff in sane as [S1 _]. rewrite forallb_forall in S1. specialize (S1 r R).
      rewrite K, !andb_true_iff, !Z.ltb_lt in S1. tauto. }
    assert (on_grid (bytes a) (page a) (base_address q) (s, t) = true) as ->.
    { destruct (page a) as [k|] eqn:K; [|reflexivity]. destruct (Pg k eq_refl) as [K' C].
      eapply on_grid_sound; eauto. }
    eexists; split; [reflexivity|]. cbn [step fst snd]. split; [exact S|].
    split; [exact D|]. split; [intros; now apply (core_pin a r)|]. split; [exact Pg|].
    intros from until H. cbn [walls] in H. apply in_app_or in H as [H|H].
    - rewrite I, B. rewrite I in Q. now destruct (bars_hold r q from until R SR Q H).
    - apply in_flat_map in H as (b & Hb & H). destruct (Fx b Hb) as [s' Hs].
      destruct (wall (pool_of x (id a)) b) as [|w l] eqn:W; [destruct H|].
      destruct (meets r_ a b) eqn:Mt; [|destruct H]. rewrite <- W in H.
      destruct (wall_holds b s' _ _ _ Hs H) as (P1 & P2 & P3).
      pose proof (core_apart a b r s' A Hs Mt (eq_sym P1)) as C. unfold apart in C. lia.
  Qed.
End Sound.

Theorem compile_sound p I : compile p = Some I -> sound I /\
  forall x ends, is_plan p x -> ends_by p x ends -> good I ends x.
Proof.
  unfold compile. destruct (negb _) eqn:E; [discriminate|]. rewrite negb_false_iff, !andb_true_iff in E.
  destruct E as [[E1 E2] E3]. set (groups := fold_left _ _ _) in *.
  destruct (group_parts _ _ _) as [g|] eqn:G; [|discriminate].
  destruct (pair_up _ _ (conflicts p)) as [c|] eqn:C; [|discriminate].
  destruct (pair_up _ _ (may_share p)) as [s|] eqn:S; [|discriminate].
  intros [= <-]. set (r_ := Relations c s (has_ties p)). set (cores := map _ (filter is_solid (rows p))).
  set (fixed := filter _ cores).
  assert (K : forall a, In a cores -> exists r, is_core p g groups a r).
  { intros a H. apply in_map_iff in H as (r & <- & H). apply filter_In in H as [H L]. exists r. unfold is_solid in L.
    destruct (alias_of r) eqn:A; [discriminate|]. apply Z.ltb_lt in L. repeat split; auto. }
  assert (Kf : forall b, In b fixed -> exists r, is_core p g groups b r).
  { intros b H. apply filter_In in H as [H _]. auto. }
  split; [split|].
  - simpl. set (items := map (finish _ _ _ _) cores).
    assert (H : forall l (m : M.t item), (forall i a, M.find i m = Some a -> In a items /\ id a = i) -> incl l items ->
      forall i a, M.find i (fold_left (fun m a => M.add (id a) a m) l m) = Some a -> In a items /\ id a = i).
    { induction l as [|b t IH]; intros m Hm L i a; simpl; [apply Hm|]. apply IH; [|intros ? ?; apply L; now right].
      intros i' a'. rewrite F.add_o. destruct (OrderedTypeEx.Z_as_OT.eq_dec _ _) as [<-|_]; [|apply Hm].
      intros [= <-]. split; [apply L; now left|auto]. }
    apply H; [|apply incl_refl]. intros i a. now rewrite F.empty_o.
  - simpl. pose proof (ascending_pairs _ E1) as O. apply (pairs_filter _ is_solid) in O.
    unfold cores. generalize fixed. intros some. clear K Kf. induction O as [|r l Hr _ IH]; simpl; constructor; auto.
    rewrite Forall_forall in *. intros b Hb. rewrite map_map in Hb. apply in_map_iff in Hb as (r' & <- & Hb). simpl.
      auto.
  - intros x ends P L.
    assert (Hr : forall a, In a (map (finish p r_ fixed g) cores) -> exists a' r, a = finish p r_ fixed g a' /\ is_core
      p g groups a' r).
    { intros a H. apply in_map_iff in H as (a' & <- & H). destruct (K a' H) as [r R]. eauto. }
    split; simpl.
    + intros a H. destruct (Hr a H) as (a' & r & -> & R). pose proof R as (Rr & _ & SR & Ea).
      assert (I : id a' = number r) by now rewrite Ea. assert (B : bytes a' = size r) by now rewrite Ea.
      destruct P as [Pl D]. destruct (Pl r Rr) as (q & Q & _ & Q0 & _).
      destruct (L r Rr SR) as (e & He & Le). cbn [finish bytes id page pin].
      split; [lia|]. split; [now rewrite I|].
      rewrite <- I in Q. destruct (spot_sound p g groups r_ E1 E2 E3 G C S eq_refl x (conj Pl D) fixed a' r q R Kf Q)
        as (sp & Sp & St & Lg).
      exists e, sp. split; [now rewrite I|]. split; [|split; [exact St|split; [rewrite I, B; exact Le|exact Lg]]].
      cbn [finish spots]. erewrite map_nth_error by (apply nth_combine; exact Q). cbn [fst snd Nat.add]. now rewrite Sp.
    + intros a H. destruct (Hr a H) as (a' & r & -> & R). cbn [finish id opens]. eapply core_open; eauto.
    + intros a bs from until H N Hb. destruct (Hr a H) as (a' & r & -> & R). cbn [finish id bytes] in *.
      pose proof R as (Rr & _ & SR & ->). cbn [core id bytes] in *.
      destruct (nth_error (pools p) (pool_of x (number r))) as [q|] eqn:Q.
      * rewrite (map_nth_error bars_of _ _ Q) in N. injection N as <-. eapply bars_hold; eauto.
      * assert (nth_error (map bars_of (pools p)) (pool_of x (number r)) = None); [|congruence].
        apply nth_error_None. rewrite map_length. now apply nth_error_None.
    + intros a b Ha Hb Mt Pq. destruct (Hr a Ha) as (a' & r & -> & R), (Hr b Hb) as (b' & r' & -> & R').
      cbn [finish id bytes] in *. eapply (core_apart p g groups r_); eauto.
Qed.
