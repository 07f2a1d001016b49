(* The rules are sound: what they refute, no plan keeps. *)
From Coq Require Import ZArith List Lia Bool Permutation.
From Verified Require Import Spec Packing Legal Instance Rules.
Import ListNotations.
Open Scope Z_scope.

Section Sound.
  Variables (I : instance) (ends : list Z) (x : plan).
  Hypothesis S_ : sound I.
  Hypothesis G_ : good I ends x.

  Definition placed i (l : lows) := exists v, nth_error l (pool_of x i) = Some (Some v) /\ v <= offset x i.
  Definition above (low : state) := forall i l, low i = Some l -> placed i l.

  Lemma gone_sound i l : placed i l -> is_gone l = true -> False.
  Proof using.
    intros (v & H & _) E. unfold is_gone in E. rewrite forallb_forall in E.
    specialize (E _ (nth_error_In _ _ H)). discriminate.
  Qed.

  Lemma legal_sound a v : In a (solid I) -> v <= offset x (id a) ->
    exists w, legal ends a (pool_of x (id a)) v = Some w /\ v <= w <= offset x (id a).
  Proof using G_.
    intros A V. destruct (good_spot _ _ _ G_ a A) as (B & _ & e & sp & E & Sp & St & L & Lg).
    unfold legal. rewrite Sp, E. apply climb_sound; auto. lia.
  Qed.

  Lemma first_sound : above (at_first I ends).
  Proof using S_ G_.
    intros i l. unfold at_first. destruct (M.find i (index I)) as [a|] eqn:E; [|discriminate]. intros [= <-].
    destruct (index_sound _ S_ i a E) as [A <-]. destruct (good_spot _ _ _ G_ a A) as (_ & O & e & sp & N & _).
    destruct (legal_sound a 0 A O) as (w & L & W). exists w. split; [|lia]. unfold first.
    assert (Q : (pool_of x (id a) < length ends)%nat) by (apply nth_error_Some; congruence).
    rewrite <- L. apply (map_nth_error (fun q => legal ends a q 0)).
    rewrite (nth_error_nth' (seq 0 (length ends)) 0%nat) by (now rewrite seq_length). now rewrite seq_nth.
  Qed.

  Lemma covers_sound k : forall l q b, covers l k = true -> nth_error k q = Some (Some b) ->
    exists a, nth_error l q = Some (Some a) /\ a <= b.
  Proof using.
    induction k as [|v k IH]; intros l [|q] b C H; simpl in H; try discriminate.
    - injection H as ->. destruct l as [|[a|] l]; simpl in C; try discriminate.
      apply andb_true_iff in C as [C _]. apply Z.leb_le in C. exists a; auto.
    - destruct l as [|w l], v as [v|]; simpl in C; try discriminate.
      + destruct (IH [] q b C H) as (a & E & _). destruct q; discriminate.
      + destruct w; [|discriminate]. apply andb_true_iff in C as [_ C]. exact (IH l q b C H).
      + simpl. apply IH; [|auto]. destruct w; exact C.
  Qed.

  Definition lemma_holds (l : list (Z * lows)) := (forall i k, In (i, k) l -> placed i k) -> False.

  Lemma lemma_sound l low : lemma_holds l -> is_lemma_in l low = true -> above low -> False.
  Proof using.
    intros H E A. apply H. intros i k Hk. unfold is_lemma_in in E. rewrite forallb_forall in E.
    specialize (E _ Hk). simpl in E. destruct (low i) as [w|] eqn:L; [|discriminate].
    destruct (A i w L) as (v & N & V). destruct (covers_sound _ _ _ _ E N) as (a & N' & ?). exists a. split; [auto|lia].
  Qed.

  (* Sets. *)
  Definition free_of a b := pool_of x (id a) = pool_of x (id b) ->
    apart (offset x (id a)) (bytes a) (offset x (id b)) (bytes b).

  Record clique_holds S : Prop := {
    clique_apart : ForallOrdPairs free_of (free S);
    clique_solid : forall a, In a (free S) -> In a (solid I);
    clique_blocks : forall bs f u a, In a (free S) -> nth_error (blocks S) (pool_of x (id a)) = Some bs -> In (f, u) bs
      ->
      f <= u /\ (offset x (id a) + bytes a <= f \/ u <= offset x (id a))
  }.

  Lemma free_of_sym a b : free_of a b -> free_of b a.
  Proof using. unfold free_of, apart. intros H E. specialize (H (eq_sym E)). tauto. Qed.

  Lemma within_sound l : forall mask q v, within mask l = true -> nth_error l q = Some (Some v) ->
    nth_error mask q = Some true.
  Proof using.
    induction l as [|w l IH]; intros mask [|q] v W H; simpl in H; try discriminate.
    - injection H as ->. destruct mask as [|[|] mask]; simpl in W; try discriminate. reflexivity.
    - destruct w as [w|], mask as [|b mask]; simpl in W; try discriminate.
      + apply andb_true_iff in W as [_ W]. simpl. eapply IH; eauto.
      + specialize (IH [] q v W H). destruct q; discriminate.
      + simpl. eapply IH; eauto.
  Qed.

  Lemma chosen_in mask q : nth_error mask q = Some true -> In q (chosen mask).
  Proof using.
    intros H. apply in_map_iff. exists (q, true). split; auto. apply filter_In. split; [now apply
      numbered_in|reflexivity].
  Qed.

  Lemma inside_in mask low S a : above low -> In a (inside mask low S) ->
    In a (free S) /\ In (pool_of x (id a)) (chosen mask) /\ exists l, low (id a) = Some l /\ placed (id a) l.
  Proof using.
    intros A H. apply filter_In in H as [H W]. split; auto. destruct (low (id a)) as [l|] eqn:L; [|discriminate].
    destruct (A _ _ L) as (v & N & V). split; [apply chosen_in; eapply within_sound; eauto|].
    exists l. split; [auto|exists v; auto].
  Qed.

  Lemma fits_sound g r a : In a (solid I) -> 0 < g -> fits g r (pool_of x (id a)) a = true -> (g | offset x (id a) - r).
  Proof using G_.
    intros A P F. destruct (good_spot _ _ _ G_ a A) as (B & _ & e & sp & E & Sp & St & L & (D & _)).
    unfold fits, grid in F. rewrite Sp in F. cbn [fst snd] in F. apply andb_true_iff in F as [F1 F2].
    apply Z.eqb_eq, divides_mod in F1, F2; auto.
    replace (offset x (id a) - r) with (offset x (id a) - rest sp + (rest sp - r)) by lia.
    apply Z.divide_add_r; auto. now apply Z.divide_trans with (step sp).
  Qed.

  Lemma up_spec g r v : 0 < g -> (g | up g r v - r) /\ v <= up g r v.
  Proof using.
    intros P. unfold up. pose proof (Z.mod_pos_bound (r - v) g P). split; [|lia].
    rewrite (Z.mod_eq (r - v) g) by lia. exists (- ((r - v) / g)). lia.
  Qed.

  Lemma up_least g r v w : 0 < g -> (g | w - r) -> v <= w -> up g r v <= w.
  Proof using. intros P D L. unfold up. now apply to_grid. Qed.

  Lemma cells_fit g s d : 0 < g -> (g | d) -> s <= d -> s + (- s) mod g <= d.
  Proof using.
    intros P D L. replace (- s) with (0 - s) by lia. apply to_grid; auto. now rewrite Z.sub_0_r.
  Qed.

  Lemma long_sound g r q e bs0 : 0 < g ->
    forall l taken at_ amount waste,
    ForallOrdPairs free_of (taken ++ map snd l) ->
    (forall a, In a (taken ++ map snd l) -> In a (solid I) /\ pool_of x (id a) = q /\ offset x (id a) + bytes a <= e /\
      forall f u, In (f, u) bs0 -> f <= u /\ (offset x (id a) + bytes a <= f \/ u <= offset x (id a))) ->
    (forall v a, In (v, a) l -> v <= offset x (id a)) ->
    (forall a, In a taken -> fits g r q a = true /\ at_ <= offset x (id a) /\ (- bytes a) mod g <= waste) ->
    amount = total (cells g) taken -> 0 <= waste ->
    too_long g r q e (round_up g r bs0) l at_ amount waste = true -> False.
  Proof using G_.
    intros P. set (bs := round_up g r bs0).
    induction l as [|[v a] l IH]; intros taken at_ amount waste D F V T E W H; cbn [too_long] in H; [discriminate|].
    cbn [map snd] in D, F.
    assert (D' : ForallOrdPairs free_of (a :: taken ++ map snd l)).
    { eapply pairs_perm; [apply free_of_sym| |exact D]. symmetry. apply Permutation_middle. }
    assert (F' : forall b, In b (a :: taken ++ map snd l) -> In b (taken ++ a :: map snd l)).
    { intros b. apply Permutation_in, Permutation_middle. }
    destruct (fits g r q a) eqn:Ft.
    - set (at' := Z.min at_ v) in *. set (amount' := amount + cells g a) in *. set (waste' := Z.max waste ((- bytes a)
      mod g)) in *.
      assert (T' : forall b, In b (a :: taken) -> fits g r q b = true /\ at' <= offset x (id b) /\ (- bytes b) mod g <=
        waste').
      { intros b [<-|Hb].
        - specialize (V v a (or_introl eq_refl)). repeat split; auto; lia.
        - destruct (T b Hb) as (? & ? & ?). repeat split; auto; lia. }
      apply orb_true_iff in H as [H|H].
      + apply Z.ltb_lt in H. enough (total (cells g) (a :: taken) <= room 1 bs at' (e + waste') - room 1 bs at' at').
        { rewrite (room_none 1 bs at' at') in H0 by lia. cbn [total] in H0. lia. }
        assert (K : forall b, In b (a :: taken) -> In b (solid I) /\ pool_of x (id b) = q /\
          offset x (id b) + bytes b <= e /\ (g | offset x (id b) - r) /\ 0 < bytes b /\
          forall f u, In (f, u) bs0 -> f <= u /\ (offset x (id b) + bytes b <= f \/ u <= offset x (id b))).
        { intros b Hb. destruct (F b) as (B1 & B2 & B3 & B4).
          { apply F'. destruct Hb as [->|Hb]; [now left|right; apply in_or_app; auto]. }
          destruct (T' b Hb) as (B5 & _). destruct (good_spot _ _ _ G_ b B1) as (B6 & _).
          repeat split; auto; try apply B4; auto. apply fits_sound; auto. now rewrite B2. }
        apply (pack (room 1 bs at') (fun b => offset x (id b)) (fun b => offset x (id b) + cells g b)).
        * intros y z L. apply room_grows; lia.
        * destruct (K a (or_introl eq_refl)) as (_ & _ & ? & _ & ? & _). destruct (T' a (or_introl eq_refl)) as (_ & ?
          & _). lia.
        * assert (D2 : ForallOrdPairs free_of (a :: taken)).
          { clear - D'. inversion_clear D' as [|? ? Ha Hl]. constructor.
            - rewrite Forall_forall in *. intros b Hb. apply Ha, in_or_app; auto.
            - clear Ha. induction taken as [|b t IH]; simpl in *; [constructor|]. inversion_clear Hl as [|? ? Hb Hl'].
              constructor; auto. rewrite Forall_forall in *. intros c Hc. apply Hb, in_or_app; auto. }
          eapply pairs_impl; [|exact D2]. intros b c Hb Hc R.
          destruct (K b Hb) as (_ & B2 & _ & B4 & _), (K c Hc) as (_ & C2 & _ & C4 & _).
          unfold free_of, apart in R. rewrite B2, C2 in R. unfold cells. destruct (R eq_refl) as [R'|R'].
          -- left. pose proof (cells_fit g (bytes b) (offset x (id c) - offset x (id b)) P) as C.
             assert (g | offset x (id c) - offset x (id b)).
             { replace (offset x (id c) - offset x (id b)) with (offset x (id c) - r - (offset x (id b) - r)) by lia.
               now apply Z.divide_sub_r. }
             specialize (C H0). lia.
          -- right. pose proof (cells_fit g (bytes c) (offset x (id b) - offset x (id c)) P) as C.
             assert (g | offset x (id b) - offset x (id c)).
             { replace (offset x (id b) - offset x (id c)) with (offset x (id b) - r - (offset x (id c) - r)) by lia.
               now apply Z.divide_sub_r. }
             specialize (C H0). lia.
        * apply Forall_forall. intros b Hb. destruct (K b Hb) as (_ & _ & B3 & B4 & B5 & B6).
          destruct (T' b Hb) as (_ & T1 & T2). pose proof (Z.mod_pos_bound (- bytes b) g P). unfold cells.
          split; [exact T1|]. split; [lia|]. split; [lia|].
          rewrite room_more; try lia; [apply Z.divide_1_l|].
          intros f u Hf. unfold bs, round_up in Hf. apply in_map_iff in Hf as ([f0 u0] & [= <- <-] & Hf).
          destruct (B6 f0 u0 Hf) as [L R]. cbn [fst snd].
          destruct (up_spec g r f0 P) as [Df Lf], (up_spec g r u0 P) as [Du Lu].
          split; [apply up_least; auto; lia|]. destruct R as [R|R].
          -- left. pose proof (cells_fit g (bytes b) (up g r f0 - offset x (id b)) P) as C.
             assert (g | up g r f0 - offset x (id b)).
             { replace (up g r f0 - offset x (id b)) with (up g r f0 - r - (offset x (id b) - r)) by lia.
               now apply Z.divide_sub_r. }
             specialize (C H1). lia.
          -- right. now apply up_least.
      + apply (IH (a :: taken) at' amount' waste'); [exact D'|intros; now apply F, F'|intros; apply V; now right|exact
        T'| |lia|exact H].
        unfold amount'. cbn [total]. lia.
    - apply (IH taken at_ amount waste); [now inversion_clear D'|intros; apply F, F'; now right|intros; apply V; now
      right|exact T|exact E|exact W|exact H].
  Qed.

  Lemma sorted_perm rows : Permutation rows (SortHigh.sort rows).
  Proof using. apply SortHigh.Permuted_sort. Qed.

  Lemma one_pool_sound g r q low S members : 0 < g -> clique_holds S -> above low ->
    (forall a, In a members -> In a (free S) /\ pool_of x (id a) = q /\ exists l, low (id a) = Some l /\ placed (id a)
      l) ->
    ForallOrdPairs free_of members -> one_pool ends g r q low S members = true -> False.
  Proof using G_.
    intros P C A Mm D H. unfold one_pool in H. destruct (nth_error ends q) as [e|] eqn:E; [|discriminate].
    destruct (nth_error (blocks S) q) as [bs|] eqn:B; [|discriminate].
    assert (V : forall a, In a members -> exists v, low_in low q a = Some v /\ v <= offset x (id a)).
    { intros a Ha. destruct (Mm a Ha) as (_ & Q & l & L & v & N & V). exists v. split; [|exact V].
      unfold low_in. now rewrite L, <- Q, N. }
    apply orb_true_iff in H as [H|H].
    - apply existsb_exists in H as (a & Ha & H). destruct (V a Ha) as (v & L & _). rewrite L, andb_false_r in H.
      discriminate.
    - set (rows := flat_map _ members) in H.
      assert (R : map snd rows = members).
      { clear - V. subst rows. induction members as [|a t IH]; simpl; auto.
        destruct (V a (or_introl eq_refl)) as (v & L & _). rewrite L. simpl. f_equal. apply IH. intros; apply V; now
          right. }
      pose proof (sorted_perm rows) as Pm.
      assert (K : forall v a, In (v, a) (SortHigh.sort rows) -> In a members /\ v <= offset x (id a)).
      { intros v a Hv. apply (Permutation_in _ (Permutation_sym Pm)) in Hv. apply in_flat_map in Hv as (b & Hb & Hv).
        destruct (V b Hb) as (w & L & W). rewrite L in Hv. destruct Hv as [[= <- <-]|[]]. auto. }
      destruct (SortHigh.sort rows) as [|[top b] t] eqn:T; [discriminate|]. rewrite <- T in *.
      refine (long_sound g r q e bs P (SortHigh.sort rows) [] top 0 0 _ _ _ _ eq_refl _ H).
      + apply (pairs_perm _ free_of_sym members); [|exact D]. rewrite <- R. now apply Permutation_map.
      + intros a Ha. apply in_map_iff in Ha as ([v a'] & <- & Ha). destruct (K v a' Ha) as [Ha' _]. simpl.
        destruct (Mm a' Ha') as (Fa & Q & _). split; [now apply (clique_solid _ C)|]. split; [exact Q|].
        destruct (good_spot _ _ _ G_ a' (clique_solid _ C a' Fa)) as (_ & _ & e' & sp & E' & _ & _ & L & _).
        rewrite Q, E in E'. injection E' as <-. split; [exact L|]. intros f u Hf. eapply (clique_blocks _ C); eauto.
          now rewrite Q.
      + intros v a Ha. now apply K.
      + intros a [].
      + lia.
  Qed.

  Lemma rooms_sound g S : 0 < g -> clique_holds S -> forall qs l, ForallOrdPairs free_of l ->
    (forall a, In a l -> In a (free S) /\ (g | bytes a) /\ In (pool_of x (id a)) qs) ->
    total bytes l <= total (room_in ends g S) qs.
  Proof using G_.
    intros P C. induction qs as [|q qs IH]; intros l D H.
    - destruct l as [|a l]; simpl; [lia|]. destruct (H a (or_introl eq_refl)) as (_ & _ & []).
    - rewrite (total_split bytes (fun a => Nat.eqb (pool_of x (id a)) q) l). cbn [total].
      set (here := filter _ l). set (there := filter _ l).
      assert (T : total bytes there <= total (room_in ends g S) qs).
      { apply IH; [now apply pairs_filter|]. intros a Ha. apply filter_In in Ha as [Ha N].
        apply negb_true_iff, Nat.eqb_neq in N. destruct (H a Ha) as (? & ? & [?|?]); [congruence|auto]. }
      enough (total bytes here <= room_in ends g S q) by lia.
      assert (K : forall a, In a here -> In a (free S) /\ (g | bytes a) /\ pool_of x (id a) = q).
      { intros a Ha. apply filter_In in Ha as [Ha N]. apply Nat.eqb_eq in N. destruct (H a Ha) as (? & ? & _). auto. }
      assert (R : forall bs e, 0 <= room g bs 0 e).
      { intros bs e. destruct (Z.le_gt_cases 0 e) as [L|L].
        - pose proof (room_none g bs 0 0 ltac:(lia)). pose proof (room_grows g bs P 0 0 e L). lia.
        - rewrite room_none; lia. }
      assert (N : forall a bs f u, In a here -> nth_error (blocks S) q = bs ->
        In (f, u) (match bs with Some bs => bs | None => [] end) ->
        f <= u /\ (offset x (id a) + bytes a <= f \/ u <= offset x (id a))).
      { intros a bs f u Ha Hb Hf. destruct (K a Ha) as (Fa & _ & Q). destruct bs as [bs|]; [|destruct Hf].
        eapply (clique_blocks _ C); eauto. now rewrite Q. }
      unfold room_in, blocks_in. specialize (fun a f u Ha => N a _ f u Ha eq_refl).
      set (bs := match nth_error (blocks S) q with Some bs => bs | None => [] end) in *.
      destruct (nth_error ends q) as [e|] eqn:E.
      + destruct here as [|a0 t0] eqn:Hh; [simpl; apply R|]. rewrite <- Hh in *.
        assert (Z0 : 0 <= e).
        { destruct (K a0) as (Fa & _ & Q). { rewrite Hh. now left. }
          destruct (good_spot _ _ _ G_ a0 (clique_solid _ C a0 Fa)) as (B0 & O & e' & sp & E' & _ & _ & L & _).
          rewrite Q, E in E'. injection E' as <-. lia. }
        replace (room g bs 0 e) with (room g bs 0 e - room g bs 0 0) by (rewrite (room_none g bs 0 0); lia).
        apply (pack (room g bs 0) (fun a => offset x (id a)) (fun a => offset x (id a) + bytes a)); auto.
        * intros; now apply room_grows.
        * apply (pairs_filter _ (fun a => Nat.eqb (pool_of x (id a)) q)) in D. fold here in D.
          eapply pairs_impl; [|exact D]. intros a b Ha Hb F. destruct (K a Ha) as (_ & _ & Qa), (K b Hb) as (_ & _ &
            Qb).
          unfold free_of, apart in F. apply F. congruence.
        * apply Forall_forall. intros a Ha. destruct (K a Ha) as (Fa & Da & Q).
          destruct (good_spot _ _ _ G_ a (clique_solid _ C a Fa)) as (B0 & O & e' & sp & E' & _ & _ & L & _).
          rewrite Q, E in E'. injection E' as <-. repeat split; try lia.
          rewrite room_more; auto; try lia.
      + assert (forall a, In a here -> False) as X; [|destruct here as [|a t]; [simpl; lia|destruct (X a); now left]].
        intros a Ha. destruct (K a Ha) as (Fa & _ & Q).
        destruct (good_spot _ _ _ G_ a (clique_solid _ C a Fa)) as (B0 & O & e' & sp & E' & _). congruence.
  Qed.

  Lemma set_sound S g r bits low : clique_holds S -> above low -> is_set_full ends S g r bits low = true -> False.
  Proof using G_.
    intros C A H. unfold is_set_full in H. set (mask := map _ _) in H. apply andb_true_iff in H as [P H]. apply
      Z.ltb_lt in P.
    assert (D : ForallOrdPairs free_of (inside mask low S)) by (apply pairs_filter, (clique_apart _ C)).
    pose proof (fun a => inside_in mask low S a A) as K.
    destruct (chosen mask) as [|q [|q' qs]] eqn:Q; [discriminate| |].
    - apply (one_pool_sound g r q low S (inside mask low S)); auto. intros a Ha. destruct (K a Ha) as (F & [<-|[]] &
      L). auto.
    - rewrite <- Q in *. apply Z.ltb_lt in H.
      enough (total bytes (filter (fun a => bytes a mod g =? 0) (inside mask low S)) <= total (room_in ends g S)
        (chosen mask)).
      { rewrite Q in *. lia. }
      apply rooms_sound; auto; [now apply pairs_filter|]. intros a Ha. apply filter_In in Ha as [Ha E].
      destruct (K a Ha) as (F & L & _). apply Z.eqb_eq, divides_mod in E; auto.
  Qed.

  Lemma clique_sound members : (forall a, In a members -> In a (solid I)) -> ForallOrdPairs free_of members ->
    clique_holds (clique_of I members).
  Proof using G_.
    intros L D. split.
    - apply pairs_filter, D.
    - intros a H. apply filter_In in H. now apply L.
    - intros bs f u a H N Hb. apply filter_In in H as [H P]. cbn [blocks clique_of] in N.
      destruct (nth_error (bars I) (pool_of x (id a))) as [b0|] eqn:B.
      + erewrite map_nth_error in N by (apply Compile.nth_combine; exact B). cbn [fst snd Nat.add] in N. injection N as
        <-.
        apply (Permutation_in _ (Permutation_sym (SortStarts.Permuted_sort _))) in Hb. apply in_app_or in Hb as [Hb|Hb].
        * eapply (good_bars _ _ _ G_); eauto.
        * apply in_flat_map in Hb as (b & Hc & Hb). apply Compile.walls_of_one in Hb as (Pb & O & ->).
          destruct (good_spot _ _ _ G_ b (L b Hc)) as (B0 & _ & e & sp & _ & _ & _ & _ & (_ & K & _)).
          specialize (K f Pb). pose proof (good_open _ _ _ G_ b (L b Hc)) as Ob. rewrite O in Ob. destruct Ob as
            [Ob|[]].
          split; [lia|]. assert (R : free_of a b).
          { destruct (ForallOrdPairs_In D a b H Hc) as [->|[R|R]]; [|exact R|now apply free_of_sym].
            rewrite Pb in P. discriminate. }
          unfold free_of, apart in R. specialize (R Ob). lia.
      + assert (nth_error (map (fun qb => SortStarts.sort (snd qb ++ flat_map (wall (fst qb)) members)) (numbered (bars
        I)))
          (pool_of x (id a)) = None); [|congruence].
        apply nth_error_None. rewrite map_length. unfold numbered. rewrite combine_length, seq_length, Nat.min_id.
        now apply nth_error_None.
  Qed.

  Lemma all_meet_sound l : (forall a, In a l -> In a (solid I)) -> all_meet I l = true -> ForallOrdPairs free_of l.
  Proof using G_.
    induction l as [|a t IH]; intros L H; [constructor|]. simpl in H. apply andb_true_iff in H as [Ha Ht].
    rewrite forallb_forall in Ha. constructor; [|apply IH; auto; intros; apply L; now right].
    apply Forall_forall. intros b Hb E. apply (good_apart _ _ _ G_); auto; apply L; simpl; auto.
  Qed.

  Lemma set_at_sound t S : set_at I t = Some S -> clique_holds S.
  Proof using S_ G_.
    unfold set_at. destruct (_ && _) eqn:E; [discriminate|]. intros [= <-]. 
    assert (L : forall a, In a (filter (is_alive t) (solid I)) -> In a (solid I)) by (intros a H; now apply filter_In
      in H).
    apply clique_sound; auto. apply andb_false_iff in E as [E|E]; [|apply all_meet_sound; auto; now apply
      negb_false_iff].
    pose proof (pairs_filter _ (is_alive t) _ (solid_ordered _ S_)) as O.
    eapply pairs_impl; [|exact O]. intros a b Ha Hb N Q. apply (good_apart _ _ _ G_); auto.
    unfold meets. rewrite E. simpl negb. cbv beta in N. assert (id a =? id b = false) as -> by (apply Z.eqb_neq; lia).
      simpl.
    apply filter_In in Ha as [_ Ha], Hb as [_ Hb]. apply existsb_exists in Ha as ([f u] & Ha & Ta), Hb as ([f' u'] & Hb
      & Tb).
    apply andb_true_iff in Ta as [? ?], Tb as [? ?]. simpl in *. rewrite Z.leb_le, Z.ltb_lt in *.
    rewrite (Compile.overlap_at _ _ _ _ _ _ t Ha Hb) by lia. now rewrite orb_true_r.
  Qed.

  Lemma set_of_sound ns S : set_of I ns = Some S -> clique_holds S.
  Proof using G_.
    unfold set_of. destruct (all_meet _ _) eqn:E; [|discriminate]. intros [= <-].
    assert (L : forall f a, In a (filter f (solid I)) -> In a (solid I)) by (intros f a H; now apply filter_In in H).
    apply clique_sound; [apply L|]. apply all_meet_sound; [apply L|exact E].
  Qed.

  (* Lemmas. *)
  Definition worth_holds (f : state -> bool) := forall low, above low -> f low = true -> False.

  Record known_holds K : Prop := {
    sets_hold : forall k S, M.find k (sets K) = Some S -> clique_holds S;
    lemmas_hold : forall k l, M.find k (lemmas K) = Some l -> lemma_holds l;
    worths_hold : forall k f, M.find k (worths K) = Some f -> worth_holds f
  }.

  Lemma refuted_sound K low ref changed : known_holds K -> above low -> refuted ends K low ref changed = true -> False.
  Proof using G_.
    intros H A R. unfold refuted in R. apply orb_true_iff in R as [R|R].
    - apply existsb_exists in R as (i & _ & R). destruct (low i) as [l|] eqn:L; [|discriminate].
      eapply gone_sound; eauto.
    - destruct ref as [k|k g r bits|k|].
      + destruct (M.find k (lemmas K)) as [l|] eqn:E; [|discriminate]. eapply lemma_sound; eauto. eapply lemmas_hold;
        eauto.
      + destruct (M.find k (sets K)) as [S|] eqn:E; [|discriminate]. eapply set_sound; eauto. eapply sets_hold; eauto.
      + destruct (M.find k (worths K)) as [f|] eqn:E; [|discriminate]. eapply worths_hold; eauto.
      + discriminate.
  Qed.

  Definition in_map (m : M.t lows) : state := fun i => M.find i m.

  Lemma near_in a q m j l v c : In (j, l, v, c) (near I a q m) -> nth_error l q = Some (Some v) /\
    In c (solid I) /\ id c = j /\ meets (rel I) a c = true.
  Proof using S_.
    intros H. apply in_flat_map in H as ([i k] & _ & H). simpl in H.
    destruct (nth_error k q) as [[w|]|] eqn:N; try destruct H.
    destruct (M.find i (index I)) as [b|] eqn:E; [|destruct H].
    destruct (meets (rel I) a b) eqn:Mt; [|destruct H]. destruct H as [[= <- <- <- <-]|[]].
    destruct (index_sound _ S_ i b E). auto.
  Qed.

  Lemma near_all a q m j l v c : M.find j m = Some l -> nth_error l q = Some (Some v) ->
    M.find j (index I) = Some c -> meets (rel I) a c = true -> In (j, l, v, c) (near I a q m).
  Proof using.
    intros E N C Mt. apply in_flat_map. exists (j, l). split; [now apply F.elements_o|]. simpl. rewrite N, C, Mt. now
      left.
  Qed.

  Lemma least_end_le es j l v c : In (j, l, v, c) es -> exists w, least_end es = Some w /\ w <= v + bytes c.
  Proof using.
    induction es as [|[[[j' l'] v'] c'] t IH]; [intros []|]. intros [[= -> -> -> ->]|H]; simpl.
    - destruct (least_end t) as [w|]; eexists; (split; [reflexivity|lia]).
    - destruct (IH H) as (w & -> & L). eexists; split; [reflexivity|lia].
  Qed.

  Lemma raised_sound a q at_ es : forall m, above (in_map m) ->
    (forall j l v c, In (j, l, v, c) es ->
      placed j (put q (match legal ends c q (at_ + bytes a) with Some w => Some (Z.max v w) | None => None end) l)) ->
    above (in_map (fold_left (raise ends a q at_) es m)).
  Proof using.
    induction es as [|[[[j l] v] c] t IH]; intros m A H; [exact A|]. simpl fold_left. apply IH.
    - intros i k. unfold in_map. rewrite F.add_o.
      destruct (OrderedTypeEx.Z_as_OT.eq_dec j i) as [<-|_]; [|apply A]. intros [= <-]. apply (H j l v c). now left.
    - intros; eapply H; eauto. now right.
  Qed.

  Lemma one_place l q at_ i : filter (fun e => match snd e with None => false | _ => true end) (numbered l) = [(q, Some
    at_)] ->
    placed i l -> pool_of x i = q /\ at_ <= offset x i /\ nth_error l q = Some (Some at_).
  Proof using.
    intros E (v & N & V).
    assert (H : In (pool_of x i, Some v) (filter (fun e => match snd e with None => false | _ => true end) (numbered
      l))).
    { apply filter_In. split; [now apply numbered_in|reflexivity]. }
    rewrite E in H. destruct H as [H|[]]. injection H as E1 E2. subst v. split; [now symmetry|]. split; [exact V|]. now
      rewrite E1.
  Qed.

  Lemma rests_sound K b rests lifts m : known_holds K -> rests_or_lifts I ends K b rests lifts m = true ->
    above (in_map m) -> False.
  Proof using S_ G_.
    intros HK H A. unfold rests_or_lifts in H. destruct (M.find b (index I)) as [a|] eqn:Ea; [|discriminate].
    destruct (M.find b m) as [l|] eqn:El; [|discriminate].
    destruct (index_sound _ S_ b a Ea) as [Sa Ia].
    destruct (filter _ _) as [|[q [at_|]] [|? ?]] eqn:Fl; try discriminate.
    destruct (one_place l q at_ b Fl (A b l El)) as (Q & L & N). cbv zeta in H.
    rewrite !andb_true_iff in H. destruct H as [H1 H2].
    set (es := near I a q m) in *. rewrite <- Ia in Q, L.
    assert (Case : (exists w, least_end es = Some w /\ w <= offset x (id a)) \/
      (forall w, least_end es = Some w -> offset x (id a) < w)).
    { destruct (least_end es) as [w|]; [|right; discriminate].
      destruct (Z.le_gt_cases w (offset x (id a))); [left; eauto|right; intros ? [= <-]; lia]. }
    destruct Case as [(w & W & Lw)|Low].
    - rewrite W in H2. refine (refuted_sound _ _ _ _ HK _ H2). intros i k. unfold override.
      destruct (i =? b) eqn:E; [|apply A]. apply Z.eqb_eq in E. intros [= <-]. subst i. rewrite <- Ia, <- Q in *.
      destruct (legal_sound a (Z.max at_ w) Sa ltac:(lia)) as (v & -> & V). exists v. split; [|lia]. eapply put_same;
        eauto.
    - refine (refuted_sound _ _ _ _ HK _ H1). change (fun i => M.find i _) with (in_map (fold_left (raise ends a q at_)
      es (M.remove b m))).
      apply raised_sound.
      + intros i k. unfold in_map. rewrite F.remove_o. destruct (OrderedTypeEx.Z_as_OT.eq_dec b i); [discriminate|].
        apply A.
      + intros j k v c Hj. destruct (near_in _ _ _ _ _ _ _ Hj) as (Nk & Sc & Ic & Mt).
        assert (Aj : placed j k).
        { apply in_flat_map in Hj as ([i k'] & Hi & Hj). simpl in Hj. destruct (nth_error k' q) as [[v'|]|]; try
          destruct Hj.
          destruct (M.find i (index I)); [|destruct Hj]. destruct (meets _ _ _); [|destruct Hj]. destruct Hj as [[= <-
            <- <- <-]|[]].
          apply A. unfold in_map. now apply F.elements_o. }
        destruct Aj as (v' & Nv & V'). destruct (Nat.eq_dec (pool_of x j) q) as [Qj|Qj].
        * rewrite Qj, Nk in Nv. injection Nv as <-. 
          assert (Ap : apart (offset x (id a)) (bytes a) (offset x (id c)) (bytes c)).
          { apply (good_apart _ _ _ G_); auto. now rewrite Ic, Q. }
          destruct (least_end_le es j k v c Hj) as (w & W & Lw). specialize (Low w W). rewrite Ic in Ap. unfold apart
            in Ap.
          destruct (legal_sound c (at_ + bytes a) Sc) as (u & U & Lu); [rewrite Ic; lia|]. rewrite Ic, Qj in U. rewrite
            U, Ic in *.
          exists (Z.max v u). rewrite Qj. split; [eapply put_same; eauto|lia].
        * exists v'. split; [now rewrite put_other|exact V'].
  Qed.

  Lemma only_sound b l v k : placed b l -> nth_error l (pool_of x b) = Some (Some v) -> v <= offset x b -> pool_of x b
    = k ->
    placed b (only k (Some v) l).
  Proof using.
    intros _ N V <-. exists v. split; [|exact V]. unfold only. eapply put_same. rewrite nth_error_map, N. reflexivity.
  Qed.

  Lemma nowhere_sound K b refs m : known_holds K -> is_nowhere ends K b refs m = true -> above (in_map m) -> False.
  Proof using S_ G_.
    intros HK H A. unfold is_nowhere in H. destruct (M.find b m) as [l|] eqn:El; [|discriminate].
    destruct (A b l El) as (v & N & V). rewrite forallb_forall in H. specialize (H _ (numbered_in _ _ _ N)). cbn [fst
      snd] in H.
    destruct (nth_error refs (pool_of x b)) as [ref|]; [|discriminate].
    refine (refuted_sound _ _ _ _ HK _ H). intros i k. unfold override. destruct (i =? b) eqn:E; [|apply A].
    apply Z.eqb_eq in E. intros [= <-]. subst i. eapply only_sound; eauto.
  Qed.
End Sound.
