(* Multipliers: what each byte of a set in a pool is worth; and what every plan costs at least, then. *)
From Coq Require Import ZArith Znumtheory List Lia Bool.
From Verified Require Import Spec Packing Legal Instance Compile Rules Sound.
Import ListNotations.
Open Scope Z_scope.

(* Sums over lists where one entry grows. *)
Lemma total_grows {A} (key : A -> Z) (f g : A -> Z) l j v : NoDup (map key l) -> 0 <= v ->
  (forall b, In b l -> g b <= f b + if key b =? j then v else 0) -> total g l <= total f l + v.
Proof.
  intros N V H. assert (K : total g l <= total f l + if existsb (fun b => key b =? j) l then v else 0).
  { induction l as [|b t IH]; simpl in *; [lia|]. inversion_clear N as [|? ? Nb Nt].
    specialize (IH Nt (fun c h => H c (or_intror h))). specialize (H b (or_introl eq_refl)).
    destruct (key b =? j) eqn:E; simpl; [|lia]. apply Z.eqb_eq in E.
    destruct (existsb _ t) eqn:X; [|lia]. exfalso. apply existsb_exists in X as (c & Hc & X). apply Z.eqb_eq in X.
    apply Nb. rewrite E, <- X. now apply List.in_map. }
  destruct (existsb _ l); lia.
Qed.

Lemma ordered_differ {A} (key : A -> Z) l : ForallOrdPairs (fun a b => key a < key b) l -> NoDup (map key l).
Proof.
  induction 1 as [|a l Ha _ IH]; simpl; constructor; auto.
  intros H. apply in_map_iff in H as (b & E & H). rewrite Forall_forall in Ha. specialize (Ha b H). lia.
Qed.

Lemma total_map {A B} (h : A -> B) (f : B -> Z) l : total f (map h l) = total (fun a => f (h a)) l.
Proof. induction l; simpl; lia. Qed.

Lemma total_scale {A} (f : A -> Z) c l : total (fun a => c * f a) l = c * total f l.
Proof. induction l; simpl; lia. Qed.

Lemma total_nonneg {A} (f : A -> Z) l : (forall a, In a l -> 0 <= f a) -> 0 <= total f l.
Proof. intros H. pose proof (total_le (fun _ => 0) f l H). assert (total (fun _ : A => 0) l = 0); [|lia]. clear.
  induction l; simpl; lia. Qed.

Lemma total_divides {A} (f g : A -> Z) s l : (forall a, In a l -> (s | f a - g a)) -> (s | total f l - total g l).
Proof.
  induction l as [|a t IH]; intros H; simpl; [apply Z.divide_0_r|].
  replace (f a + total f t - (g a + total g t)) with (f a - g a + (total f t - total g t)) by lia.
  apply Z.divide_add_r; [apply H; now left|apply IH; intros; apply H; now right].
Qed.

Section Costs.
  Variables (p : problem) (I : instance) (ends : list Z) (by_ : kind) (d : Z).

  (* Prices in parts of which d make one unit, if they are whole. *)
  Definition part_prices : option (list Z) :=
    if forallb (fun c => (c * d) mod parts p =? 0) (prices p by_)
    then Some (map (fun c => c * d / parts p) (prices p by_)) else None.

  Definition moved (ps : list (row * Z)) := total (fun rd => if 0 <? size (fst rd) then traffic (fst rd) else 0) ps.
  Definition traffic_of a := moved (parts_of (part_lists I) (id a)).
  Definition price_of ws a q := traffic_of a * nth q ws 0.

  Definition charges_of (m : M.t (list Z)) i := match M.find i m with Some l => l | None => [] end.
  Fixpoint plus (q : nat) v l := match l, q with
    | [], _ => []
    | h :: t, O => h + v :: t
    | h :: t, S q => h :: plus q v t
    end.

  Definition charge q w m a := M.add (id a) (plus q (w * bytes a) (charges_of m (id a))) m.

  (* Charges, and what the bytes of the pools are worth together. *)
  Fixpoint charge_all K rows (m : M.t (list Z)) : option (M.t (list Z) * Z) := match rows with
    | [] => Some (m, 0)
    | (k, q, w) :: t => match M.find k (sets K), charge_all K t m with
        | Some c, Some (m, worth) =>
            if 0 <=? w then Some (fold_left (charge q w) (free c) m, worth + w * room_in ends 1 c q) else None
        | _, _ => None
        end
    end.

  Definition homes_of (l : lows) := flat_map (fun e => match snd e with Some _ => [fst e] | None => [] end) (numbered
    l).

  Definition least (l : list Z) := match l with [] => 0 | a :: t => fold_right Z.min a t end.

  Definition is_dear k scale worth (table : list (item * list nat * list Z)) base step (low : state) :=
    let rows := map (fun e => let '(a, homes, charges) := e in
      match low (id a) with
      | Some l => map (fun q => nth q charges 0) (homes_of l)
      | None => map (fun q => nth q charges 0) homes
      end) table in
    existsb (fun r => match r with [] => true | _ => false end) rows ||
    let bound := - ((worth - total least rows) / scale) in
    (if step =? 0 then k <=? base else k <=? bound + (base - bound) mod step).

  (* What all plans cost but for multiples of a step. *)
  Definition base_of ws (table : list (item * list nat)) := total (fun e => match snd e with
    | q :: _ => price_of ws (fst e) q
    | [] => 0
    end) table.
  Definition differences ws (table : list (item * list nat)) := flat_map (fun e => match snd e with
    | o :: t => map (fun q => price_of ws (fst e) q - price_of ws (fst e) o) t
    | [] => []
    end) table.

  Definition value k (K : known) scale rows : option (state -> bool) :=
    match part_prices with
    | None => None
    | Some ws =>
        let firsts := map (fun a => (a, homes_of (first ends a))) (solid I) in
        let step := fold_right Z.gcd 0 (differences ws firsts) in
        let prices := fold_left (fun m a => let t := traffic_of a in M.add (id a) (map (fun c => scale * (t * c)) ws) m)
          (solid I) (M.empty (list Z)) in
        match charge_all K rows prices with
        | Some (m, worth) =>
            if (0 <? scale) && (0 <? d) && (0 <? parts p) && (0 <=? step) &&
              forallb (fun v => if step =? 0 then v =? 0 else v mod step =? 0) (differences ws firsts) &&
              forallb (fun r => 0 <=? traffic r) (Spec.rows p) && forallb (fun c => 0 <=? c) ws &&
              Nat.eqb (length ws) (length ends)
            then
              let table := map (fun e => (fst e, snd e, charges_of m (id (fst e)))) firsts in
              Some (is_dear k scale worth table (base_of ws firsts) step)
            else None
        | None => None
        end
    end.
End Costs.

Lemma nth_plus q v : 0 <= v -> forall l k, nth k (plus q v l) 0 <= nth k l 0 + if Nat.eqb k q then v else 0.
Proof.
  intros V. induction q as [|q IH]; intros [|h t] [|k]; simpl; try lia.
  - destruct (Nat.eqb k q); lia.
  - exact (IH t k).
Qed.

Lemma least_le l v : In v l -> least l <= v.
Proof.
  destruct l as [|a t]; [intros []|]. simpl. revert a. induction t as [|b t IH]; simpl; intros a [->|H].
  - lia.
  - destruct H.
  - specialize (IH v (or_introl eq_refl)). lia.
  - destruct H as [->|H]; [lia|]. specialize (IH a (or_intror H)). lia.
Qed.

Section Sound.
  Variables (p : problem) (I : instance) (ends : list Z) (by_ : kind) (d : Z) (x : plan).
  Hypothesis compiled : compile p = Some I.
  Hypothesis is_p : is_plan p x.
  Hypothesis ends_p : ends_by p x ends.

  Lemma S_ : sound I.
  Proof using compiled. now apply compile_sound in compiled. Qed.

  Lemma G_ : good I ends x.
  Proof using compiled is_p ends_p. apply compile_sound in compiled as [_ G]. now apply G. Qed.

  Variable ws : list Z.
  Let price r := nth (pool_of x (number r)) ws 0.
  Let val r := if 0 <? size r then traffic r * price r else 0.

  Lemma ids_differ : NoDup (map id (solid I)).
  Proof using compiled.
    apply ordered_differ, solid_ordered, S_.
  Qed.

  (* The price of a buffer is that of all that lies in it. *)
  Lemma solids_cost : (forall r, In r (rows p) -> 0 <= traffic r) -> (forall q, 0 <= nth q ws 0) ->
    total (fun a => price_of I ws a (pool_of x (id a))) (solid I) <= total val (rows p).
  Proof using compiled is_p.
    intros T W. unfold compile in compiled. destruct (negb _) eqn:E; [discriminate|].
    rewrite negb_false_iff, !andb_true_iff in E. destruct E as [[E1 _] _]. set (groups := fold_left _ _ _) in *.
    destruct (group_parts _ _ _) as [g|] eqn:G; [|discriminate].
    destruct (pair_up _ _ (conflicts p)) as [c|]; [|discriminate]. destruct (pair_up _ _ (may_share p)) as [s|];
      [|discriminate].
    injection compiled as <-. cbn [solid]. rewrite !total_map. unfold price_of, traffic_of. cbn [finish core id
      part_lists].
    assert (V : forall r, In r (rows p) -> 0 <= val r).
    { intros r R. unfold val, price. destruct (0 <? size r); [|lia]. apply Z.mul_nonneg_nonneg; auto. }
    assert (A : forall r, total (fun rd => val (fst rd)) (parts_of g (number r)) =
      moved (parts_of g (number r)) * nth (pool_of x (number r)) ws 0).
    { intros r. unfold moved. rewrite Z.mul_comm, <- total_scale. apply total_ext. intros [s' e] H. cbn [fst].
      destruct (part_at p g G x is_p r s' e H) as (_ & Q & _). unfold val, price. rewrite Q. destruct (0 <? size s');
        lia. }
    rewrite <- (total_ext (fun r => total (fun rd => val (fst rd)) (parts_of g (number r)))) by (intros; apply A).
    assert (B : forall l gl, incl l (rows p) -> group_parts (number_rows (rows p)) (length (rows p)) l = Some gl ->
      total (fun r => total (fun rd => val (fst rd)) (parts_of gl (number r))) (filter is_solid (rows p)) <= total val
        l).
    { induction l as [|r t IH]; intros gl In_ H; simpl in H.
      - injection H as <-. apply Z.eq_le_incl. cbn [total].
        induction (filter is_solid (rows p)) as [|b u IHu]; [reflexivity|]. cbn [total]. rewrite IHu. unfold parts_of.
          now rewrite F.empty_o.
      - destruct (root_of _ _ (number r)) as [[j e]|]; [|discriminate]. destruct (group_parts _ _ t) as [gt|];
        [|discriminate].
        injection H as <-. specialize (IH gt (fun c h => In_ c (or_intror h)) eq_refl). cbn [total].
        rewrite Z.add_comm. etransitivity; [|apply Z.add_le_mono_r; exact IH].
        apply (total_grows number) with (j := j).
        + apply ordered_differ, pairs_filter, ascending_pairs, E1.
        + apply V, In_. now left.
        + intros b _. unfold parts_of at 1. rewrite F.add_o.
          destruct (OrderedTypeEx.Z_as_OT.eq_dec j (number b)) as [<-|N].
          * rewrite Z.eqb_refl. cbn [total fst]. lia.
          * rewrite (proj2 (Z.eqb_neq (number b) j)) by congruence. unfold parts_of. lia. }
    apply B; [apply incl_refl|exact G].
  Qed.

  Definition charged (m : M.t (list Z)) a := nth (pool_of x (id a)) (charges_of m (id a)) 0.

  Lemma charges_grow q w : 0 <= w -> forall l m, (forall b, In b l -> In b (solid I)) ->
    total (charged (fold_left (charge q w) l m)) (solid I) <=
    total (charged m) (solid I) + w * total bytes (filter (fun a => Nat.eqb (pool_of x (id a)) q) l).
  Proof using compiled is_p ends_p.
    intros W. induction l as [|b t IH]; intros m L; simpl; [lia|].
    etransitivity; [apply IH; intros; apply L; now right|].
    destruct (good_spot _ _ _ G_ b (L b (or_introl eq_refl))) as (B & _).
    assert (V : 0 <= w * bytes b) by (apply Z.mul_nonneg_nonneg; lia).
    assert (H : total (charged (charge q w m b)) (solid I) <=
      total (charged m) (solid I) + if Nat.eqb (pool_of x (id b)) q then w * bytes b else 0).
    { apply (total_grows id) with (j := id b); [apply ids_differ|destruct (Nat.eqb _ q); lia|].
      intros a _. unfold charged, charge, charges_of at 1. rewrite F.add_o.
      destruct (OrderedTypeEx.Z_as_OT.eq_dec (id b) (id a)) as [E|N].
      - rewrite <- E, Z.eqb_refl. now apply nth_plus.
      - rewrite (proj2 (Z.eqb_neq (id a) (id b))) by congruence. unfold charges_of. lia. }
    destruct (Nat.eqb (pool_of x (id b)) q); simpl; lia.
  Qed.

  Lemma charge_all_sound K rows : known_holds I x K -> forall m m' worth, charge_all ends K rows m = Some (m', worth) ->
    total (charged m') (solid I) <= total (charged m) (solid I) + worth.
  Proof using compiled is_p ends_p.
    intros H. induction rows as [|[[k q] w] t IH]; intros m m' worth E; simpl in E; [injection E as <- <-; lia|].
    destruct (M.find k (sets K)) as [c|] eqn:C; [|discriminate].
    destruct (charge_all ends K t m) as [[m1 worth1]|] eqn:T; [|discriminate].
    destruct (0 <=? w) eqn:W; [|discriminate]. apply Z.leb_le in W. injection E as <- <-.
    specialize (IH _ _ _ T). pose proof (sets_hold _ _ _ H k c C) as Hc.
    pose proof (charges_grow q w W (free c) m1 (clique_solid _ _ _ Hc)) as Gr.
    assert (R : total bytes (filter (fun a => Nat.eqb (pool_of x (id a)) q) (free c)) <= total (room_in ends 1 c) [q]).
    { apply (rooms_sound I ends x G_ 1 c); [lia|exact Hc|apply pairs_filter, (clique_apart _ _ _ Hc)|].
      intros a Ha. apply filter_In in Ha as [Ha Q]. apply Nat.eqb_eq in Q. split; [exact Ha|]. split; [apply
        Z.divide_1_l|now left]. }
    simpl in R. nia.
  Qed.

  Lemma first_placed a : In a (solid I) -> placed x (id a) (first ends a).
  Proof using compiled is_p ends_p.
    intros A. destruct (good_spot _ _ _ G_ a A) as (_ & O & e & sp & N & _).
    destruct (legal_sound I ends x G_ a 0 A O) as (w & L & W). exists w. split; [|lia]. unfold first.
    assert (Q : (pool_of x (id a) < length ends)%nat) by (apply nth_error_Some; congruence).
    rewrite <- L. apply (map_nth_error (fun q => legal ends a q 0)).
    rewrite (nth_error_nth' (seq 0 (length ends)) 0%nat) by (now rewrite seq_length). now rewrite seq_nth.
  Qed.

  Lemma home_in i l : placed x i l -> In (pool_of x i) (homes_of l).
  Proof using.
    intros (v & N & _). apply in_flat_map. exists (pool_of x i, Some v). split; [now apply numbered_in|now left].
  Qed.

  Lemma first_charges (h : item -> list Z) l : NoDup (map id l) -> forall m a, In a l ->
    charges_of (fold_left (fun m a => M.add (id a) (h a) m) l m) (id a) = h a.
  Proof using.
    intros N. assert (K : forall t m i, ~ In i (map id t) ->
      M.find i (fold_left (fun m a => M.add (id a) (h a) m) t m) = M.find i m).
    { induction t as [|b t IH]; intros m i H; simpl; auto. rewrite IH by (intros X; apply H; now right).
      rewrite F.add_o. destruct (OrderedTypeEx.Z_as_OT.eq_dec _ _) as [E|_]; auto. destruct H. now left. }
    induction l as [|b t IH]; intros m a H; [destruct H|]. simpl. inversion_clear N as [|? ? Nb Nt].
    destruct H as [->|H]; [|now apply IH]. unfold charges_of. rewrite K by exact Nb. rewrite F.add_o.
    destruct (OrderedTypeEx.Z_as_OT.eq_dec _ _); congruence.
  Qed.
End Sound.

Lemma cost_total p by_ x : cost_of p by_ x =
  total (fun r => if 0 <? size r then traffic r * nth (pool_of x (number r)) (prices p by_) 0 else 0) (rows p).
Proof. unfold cost_of. induction (rows p) as [|r t IH]; simpl; [reflexivity|]. now rewrite IH. Qed.

Lemma nth_map_0 (f : Z -> Z) l q : f 0 = 0 -> nth q (map f l) 0 = f (nth q l 0).
Proof. intros E. rewrite <- E at 1. apply map_nth. Qed.

Theorem value_sound p I ends by_ d x : compile p = Some I -> is_plan p x -> ends_by p x ends ->
  forall k, d * cost_of p by_ x < k * parts p ->
  forall K, known_holds I x K -> forall scale rows f, value p I ends by_ d k K scale rows = Some f -> worth_holds x f.
Proof.
  intros C P L k Cheap K HK scale rows f V. unfold value in V.
  destruct (part_prices p by_ d) as [ws|] eqn:W; [|discriminate].
  set (firsts := map (fun a => (a, homes_of (first ends a))) (solid I)) in *.
  set (step := fold_right Z.gcd 0 (differences I ws firsts)) in *.
  set (m0 := fold_left _ _ _) in V.
  destruct (charge_all ends K rows m0) as [[m worth]|] eqn:Ch; [|discriminate].
  destruct (_ && _) eqn:Ck; [|discriminate]. injection V as <-. rewrite !andb_true_iff in Ck.
  destruct Ck as [[[[[[[C1 C2] C3] C4] C5] C6] C7] _]. apply Z.ltb_lt in C1, C2, C3. apply Z.leb_le in C4.
  rewrite forallb_forall in C5, C6, C7.
  assert (Tr : forall r, In r (Spec.rows p) -> 0 <= traffic r) by (intros r R; specialize (C6 r R); now apply Z.leb_le).
  assert (Wn : forall q, 0 <= nth q ws 0).
  { intros q. destruct (nth_in_or_default q ws 0) as [H| ->]; [|lia]. specialize (C7 _ H). now apply Z.leb_le. }
  set (price := fun a => price_of I ws a (pool_of x (id a))).
  assert (Less : total price (solid I) < k).
  { pose proof (solids_cost p I x C P ws Tr Wn) as S. fold price in S. 
    unfold part_prices in W. destruct (forallb _ (prices p by_)) eqn:Whole; [|discriminate]. injection W as <-.
    rewrite cost_total, <- total_scale in Cheap.
    enough (E : parts p * total price (solid I) < parts p * k) by nia.
    eapply Z.le_lt_trans; [apply Z.mul_le_mono_nonneg_l; [lia|exact S]|]. rewrite <- total_scale.
    replace (parts p * k) with (k * parts p) by lia. eapply Z.le_lt_trans; [|exact Cheap]. apply Z.eq_le_incl,
      total_ext.
    intros r _. destruct (0 <? size r); [|lia]. rewrite nth_map_0 by (now rewrite Z.mul_0_l, Zdiv_0_l).
    set (c := nth (pool_of x (number r)) (prices p by_) 0).
    assert (D : c * d mod parts p = 0).
    { subst c. destruct (nth_in_or_default (pool_of x (number r)) (prices p by_) 0) as [H| ->]; [|now rewrite
      Z.mul_0_l].
      rewrite forallb_forall in Whole. specialize (Whole _ H). now apply Z.eqb_eq in Whole. }
    apply Z_div_exact_full_2 in D; [|lia].
    transitivity (traffic r * (parts p * (c * d / parts p))); [ring|rewrite <- D; ring]. }
  assert (Fh : forall a, In a (solid I) -> In (pool_of x (id a)) (homes_of (first ends a))).
  { intros a A. apply home_in. eapply first_placed; eauto. }
  assert (Same : (step | total price (solid I) - base_of I ws firsts)).
  { unfold base_of, firsts. rewrite total_map. cbn [fst snd]. apply total_divides. intros a A. specialize (Fh a A).
    destruct (homes_of (first ends a)) as [|o t] eqn:H; [destruct Fh|].
    destruct Fh as [->|Q]; [unfold price; rewrite Z.sub_diag; apply Z.divide_0_r|].
    assert (X : In (price a - price_of I ws a o) (differences I ws firsts)).
    { apply in_flat_map. exists (a, o :: t). split; [|cbn [fst snd]; now apply (List.in_map (fun q => price_of I ws a q
      - price_of I ws a o))].
      unfold firsts. rewrite <- H. now apply (List.in_map (fun a => (a, homes_of (first ends a)))). }
    specialize (C5 _ X). destruct (step =? 0) eqn:Z0.
    - apply Z.eqb_eq in C5. rewrite C5. apply Z.divide_0_r.
    - apply Z.eqb_neq in Z0. apply Z.eqb_eq in C5. apply divides_mod; [lia|exact C5]. }
  assert (Bound : total (charged x m) (solid I) <= scale * total price (solid I) + worth).
  { pose proof (charge_all_sound p I ends x C P L K rows HK m0 m worth Ch) as H.
    rewrite <- total_scale. enough (total (charged x m0) (solid I) = total (fun a => scale * price a) (solid I)) by lia.
    apply total_ext. intros a A. unfold charged, m0.
    rewrite (first_charges (fun a => map (fun c => scale * (traffic_of I a * c)) ws) (solid I) (ids_differ p I C) _ a
      A).
    rewrite nth_map_0 by lia. reflexivity. }
  intros low Ab D. unfold is_dear in D. set (rs := map _ _) in D.
  assert (Rs : Forall2 (fun a r => In (charged x m a) r) (solid I) rs).
  { unfold rs, firsts. rewrite !map_map. cbn [fst snd].
    assert (H : forall l, incl l (solid I) -> Forall2 (fun a r => In (charged x m a) r) l (map (fun a =>
      match low (id a) with
      | Some l => map (fun q => nth q (charges_of m (id a)) 0) (homes_of l)
      | None => map (fun q => nth q (charges_of m (id a)) 0) (homes_of (first ends a))
      end) l)); [|apply H, incl_refl].
    induction l as [|a t IH]; intros In_; simpl; constructor; [|apply IH; intros b Hb; apply In_; now right].
    destruct (low (id a)) as [l|] eqn:E; apply (List.in_map (fun q => nth q (charges_of m (id a)) 0)).
    - apply home_in. now apply Ab.
    - apply Fh, In_. now left. }
  clearbody rs. apply orb_true_iff in D as [D|D].
  - apply existsb_exists in D as (r & Hr & D). clear - Rs Hr D. induction Rs as [|a r' l t H _ IH]; [destruct Hr|].
    destruct Hr as [->|Hr]; auto. destruct r; [destruct H|discriminate].
  - assert (T : total least rs <= total (charged x m) (solid I)).
    { clear - Rs. induction Rs as [|a r l t H _ IH]; cbn [total]; [lia|]. pose proof (least_le _ _ H). lia. }
    assert (B : - ((worth - total least rs) / scale) <= total price (solid I)).
    { enough (- total price (solid I) <= (worth - total least rs) / scale) by lia. apply Z.div_le_lower_bound; lia. }
    destruct (step =? 0) eqn:Z0.
    + apply Z.eqb_eq in Z0. rewrite Z0 in Same. apply Z.divide_0_l in Same. apply Z.leb_le in D. lia.
    + apply Z.eqb_neq in Z0. apply Z.leb_le in D.
      pose proof (to_grid step (base_of I ws firsts) _ (total price (solid I)) ltac:(lia) Same B). lia.
Qed.
