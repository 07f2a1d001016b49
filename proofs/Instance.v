(* What the rules of certificates need of a problem: the buffers that are no aliases, with all that binds them. *)
From Coq Require Import ZArith List Lia Bool OrderedTypeEx.
From Verified Require Import Spec Packing Legal.
From Verified Require Export Map.
Import ListNotations.
Open Scope Z_scope.

(* Pairs of numbers. *)
Definition pairs := M.t (M.t unit).
Definition has_pair (s : pairs) i j := match M.find i s with Some t => M.mem j t | None => false end.
Definition add_pair i j (s : pairs) : pairs :=
  M.add i (M.add j tt match M.find i s with Some t => t | None => M.empty unit end) s.

Lemma has_add a b i j s : has_pair (add_pair i j s) a b = true <-> (a = i /\ b = j) \/ has_pair s a b = true.
Proof.
  unfold has_pair, add_pair, M.mem. rewrite F.add_o. destruct (Z_as_OT.eq_dec i a) as [<-|N].
  - rewrite F.add_o. destruct (Z_as_OT.eq_dec j b) as [<-|N].
    + tauto.
    + destruct (M.find i s) eqn:E.
      * split; [tauto|]. intros [[_ ?]|?]; [congruence|auto].
      * rewrite F.empty_o. split; [intros; discriminate|]. intros [[_ ?]|?]; congruence.
  - split; [tauto|]. intros [[? _]|?]; [congruence|auto].
Qed.

Record item := Item {
  id : Z; bytes : Z; lives : list (Z * Z); group : Z; pin : option Z; page : option Z; opens : list nat;
  spots : list (option spot)
}.

Record relations := Relations { named : pairs; sharing : pairs; ties : bool }.

Definition overlap (k l : list (Z * Z)) :=
  existsb (fun a => existsb (fun b => Z.max (fst a) (fst b) <? Z.min (snd a) (snd b)) l) k.

(* Two buffers that never share bytes. *)
Definition meets rel a b := negb (id a =? id b) &&
  (has_pair (named rel) (id a) (id b) ||
   (overlap (lives a) (lives b) &&
    (negb (ties rel) || (negb (group a =? group b) && negb (has_pair (sharing rel) (id a) (id b)))))).

(* The range that a pinned buffer takes of a pool. *)
Definition wall q a := match pin a, opens a with
  | Some k, [o] => if Nat.eqb o q then [(k, k + bytes a)] else []
  | _, _ => []
  end.

Section Compile.
  Variable p : problem.

  Fixpoint number_rows (l : list row) : M.t row := match l with
    | [] => M.empty row
    | r :: t => M.add (number r) r (number_rows t)
    end.

  Fixpoint ascending l := match l with
    | r :: (s :: _) as t => (number r <? number s) && ascending t
    | _ => true
    end.

  Lemma ascending_pairs l : ascending l = true -> ForallOrdPairs (fun r s => number r < number s) l.
  Proof.
    induction l as [|r t IH]; intros H; [constructor|]. destruct t as [|s t]; [repeat constructor|].
    apply andb_true_iff in H as [L H]. apply Z.ltb_lt in L. specialize (IH H). constructor; auto.
    inversion IH as [|? ? Fs _]; subst. constructor; auto. rewrite Forall_forall in *. intros u Hu.
    specialize (Fs u Hu). lia.
  Qed.

  Lemma number_sound l i r : M.find i (number_rows l) = Some r -> In r l /\ number r = i.
  Proof.
    induction l as [|s t IH]; simpl; [now rewrite F.empty_o|].
    rewrite F.add_o. destruct (Z_as_OT.eq_dec (number s) i) as [E|_]; [intros [= <-]; auto|]. intros H. apply IH in H.
      tauto.
  Qed.

  Lemma number_complete l r : ForallOrdPairs (fun r s => number r < number s) l -> In r l ->
    M.find (number r) (number_rows l) = Some r.
  Proof.
    induction 1 as [|s t Hs _ IH]; [intros []|]. intros [->|H]; simpl; rewrite F.add_o;
      destruct (Z_as_OT.eq_dec _ _) as [E|N]; try congruence; auto.
    rewrite Forall_forall in Hs. specialize (Hs r H). lia.
  Qed.

  Variable by_number : M.t row.
  Hypothesis found : forall i r, M.find i by_number = Some r -> In r (rows p) /\ number r = i.
  Hypothesis finds : forall r, In r (rows p) -> M.find (number r) by_number = Some r.

  Fixpoint root_of fuel i : option (Z * Z) := match M.find i by_number, fuel with
    | Some r, S f => match alias_of r with
        | None => Some (i, 0)
        | Some (host, k) => match root_of f host with Some (root, d) => Some (root, d + k) | None => None end
        end
    | _, _ => None
    end.

  Lemma root_sound fuel : forall i j d, root_of fuel i = Some (j, d) -> lies_in p i j d.
  Proof using found.
    induction fuel as [|f IH]; intros i j d; simpl; destruct (M.find i by_number) as [r|] eqn:E; try discriminate.
    apply found in E as [H <-]. destruct (alias_of r) as [[host k]|] eqn:A.
    - destruct (root_of f host) as [[root e]|] eqn:R; [|discriminate]. intros [= <- <-]. eapply is_part; eauto.
    - intros [= <- <-]. now apply is_root.
  Qed.

  Lemma root_unique i j d : lies_in p i j d -> forall fuel k e, root_of fuel i = Some (k, e) -> k = j /\ e = d.
  Proof using finds.
    induction 1 as [r H A|r host k root d H A _ IH]; intros [|f] k' e; simpl; rewrite (finds r H); try discriminate;
      rewrite A.
    - intros [= <- <-]; auto.
    - destruct (root_of f host) as [[root' e']|] eqn:R; [|discriminate].
      destruct (IH f root' e' R) as [-> ->]. intros [= <- <-]; auto.
  Qed.

  Lemma lies_in_plan x i j d : is_plan p x -> lies_in p i j d ->
    pool_of x i = pool_of x j /\ offset x i = offset x j + d.
  Proof using.
    intros [P _]. induction 1 as [r H A|r host k root d H A _ [IH1 IH2]]; [split; [auto|lia]|].
    destruct (P r H) as (q & _ & _ & _ & _ & _ & _ & _ & Q & _). destruct (Q _ _ A). split; [congruence|lia].
  Qed.

  Definition parts_of (g : M.t (list (row * Z))) j := match M.find j g with Some l => l | None => [] end.

  Fixpoint group_parts fuel l : option (M.t (list (row * Z))) := match l with
    | [] => Some (M.empty _)
    | r :: t => match root_of fuel (number r), group_parts fuel t with
        | Some (j, d), Some g => Some (M.add j ((r, d) :: parts_of g j) g)
        | _, _ => None
        end
    end.

  Lemma parts_sound fuel l : forall g j r d, group_parts fuel l = Some g -> In (r, d) (parts_of g j) ->
    In r l /\ lies_in p (number r) j d.
  Proof using found.
    induction l as [|s t IH]; simpl; intros g j r d E H.
    - injection E as <-. unfold parts_of in H. now rewrite F.empty_o in H.
    - destruct (root_of fuel (number s)) as [[k e]|] eqn:R; [|discriminate].
      destruct (group_parts fuel t) as [g'|] eqn:G; [|discriminate]. injection E as <-.
      unfold parts_of in H at 1. rewrite F.add_o in H. destruct (Z_as_OT.eq_dec k j) as [->|_].
      + destruct H as [[= -> ->]|H]; [split; [auto|eapply root_sound; eauto]|]. apply (IH g') in H as []; auto.
      + apply (IH g') in H as []; auto.
  Qed.

  Fixpoint pair_up fuel l : option pairs := match l with
    | [] => Some (M.empty _)
    | (a, b) :: t => match root_of fuel a, root_of fuel b, pair_up fuel t with
        | Some (i, _), Some (j, _), Some s => Some (add_pair i j (add_pair j i s))
        | _, _, _ => None
        end
    end.

  Lemma pairs_sound fuel l : forall s i j, pair_up fuel l = Some s -> has_pair s i j = true -> listed p l i j.
  Proof using found.
    induction l as [|[a b] t IH]; simpl; intros s i j E H.
    - injection E as <-. unfold has_pair in H. now rewrite F.empty_o in H.
    - destruct (root_of fuel a) as [[a' d]|] eqn:A; [|discriminate].
      destruct (root_of fuel b) as [[b' e]|] eqn:B; [|discriminate].
      destruct (pair_up fuel t) as [s'|]; [|discriminate]. injection E as <-.
      apply root_sound in A, B. rewrite !has_add in H. destruct H as [[-> ->]|[[-> ->]|H]].
      + exists a, b, d, e. simpl; auto.
      + exists b, a, e, d. simpl; auto.
      + destruct (IH s' i j eq_refl H) as (a0 & b0 & d0 & e0 & L & ?). exists a0, b0, d0, e0. simpl; tauto.
  Qed.

  Lemma pairs_complete fuel l : forall s i j, pair_up fuel l = Some s -> listed p l i j -> has_pair s i j = true.
  Proof using finds.
    induction l as [|[a b] t IH]; simpl; intros s i j E (a0 & b0 & d0 & e0 & L & LA & LB); [simpl in L; tauto|].
    destruct (root_of fuel a) as [[a' d]|] eqn:A; [|discriminate].
    destruct (root_of fuel b) as [[b' e]|] eqn:B; [|discriminate].
    destruct (pair_up fuel t) as [s'|] eqn:S; [|discriminate]. injection E as <-. rewrite !has_add.
    destruct L as [[[= -> ->]|L]|[[= -> ->]|L]].
    - left. destruct (root_unique _ _ _ LA _ _ _ A), (root_unique _ _ _ LB _ _ _ B). auto.
    - right; right. apply (IH s'); auto. exists a0, b0, d0, e0; auto.
    - right; left. destruct (root_unique _ _ _ LA _ _ _ B), (root_unique _ _ _ LB _ _ _ A). auto.
    - right; right. apply (IH s'); auto. exists a0, b0, d0, e0; auto.
  Qed.

  (* Rigid groups: the numbers are found in any way, then compared over all links. *)
  Definition group_of (g : M.t Z) i := match M.find i g with Some k => k | None => i end.
  Definition join fuel (g : M.t Z) r := match relative_to r with
    | None => g
    | Some t => match root_of fuel t with
        | None => g
        | Some (j, _) =>
            let a := group_of g (number r) in
            let b := group_of g j in
            M.map (fun k => if k =? a then b else k) (M.add (number r) a (M.add j b (M.add a a g)))
        end
    end.
  Definition joins fuel (g : M.t Z) r := match relative_to r with
    | None => true
    | Some t => match root_of fuel t with Some (j, _) => group_of g (number r) =? group_of g j | None => false end
    end.

  Lemma joins_sound fuel g : forallb (joins fuel g) (rows p) = true ->
    forall i j, tied p i j -> group_of g i = group_of g j.
  Proof using finds.
    intros H. rewrite forallb_forall in H. induction 1 as [r t j d Hr R L| |? ? _ ?|? ? ? _ ? _ ?]; try congruence.
    specialize (H r Hr). unfold joins in H. rewrite R in H. destruct (root_of fuel t) as [[k e]|] eqn:E;
      [|discriminate].
    apply Z.eqb_eq in H. destruct (root_unique _ _ _ L _ _ _ E) as [-> _]. auto.
  Qed.

  Definition pins_of (ps : list (row * Z)) :=
    flat_map (fun rd => match pinned (fst rd) with Some k => [k - snd rd] | None => [] end) ps.
  Definition one_of pins : option Z := match pins with
    | [] => None
    | k :: t => Some (if forallb (Z.eqb k) t then k else -1)
    end.

  Lemma one_of_sound pins x k : (forall k, In k pins -> x = k) -> one_of pins = Some k -> x = k.
  Proof using.
    destruct pins as [|h t]; simpl; intros H [= <-]. destruct (forallb (Z.eqb h) t) eqn:E; [auto|].
    assert (forallb (Z.eqb h) t = true); [|congruence]. apply forallb_forall. intros y Hy. apply Z.eqb_eq.
    rewrite <- (H h), <- (H y); auto.
  Qed.

  Definition core (g : M.t (list (row * Z))) groups r : item :=
    let ps := parts_of g (number r) in
    Item (number r) (size r) (flat_map (fun rd => lifetimes (fst rd)) ps) (group_of groups (number r))
      (one_of (pins_of ps)) (no_cross r)
      (filter (fun q => forallb (fun rd => existsb (Nat.eqb q) (homes (fst rd))) ps) (seq 0 (length (pools p)))) [].

  Definition rules_of q (ps : list (row * Z)) := flat_map (fun rd =>
    match offset_mod (fst rd) with Some (m, k) => [(m, k - snd rd)] | None => [] end ++
    [(alignment (fst rd), - base_address q - snd rd); (pool_alignment q, - base_address q - snd rd)]) ps.

  Definition bars_of q := flat_map (fun fl => if 0 <? snd fl then [(fst fl, fst fl + snd fl)] else []) (reserved q).

  Definition spot_of rel (fixed : list item) a n q ps : option spot :=
    if negb (existsb (Nat.eqb n) (opens a)) then None
    else match narrow_all (1, 0) (rules_of q ps) with
      | None => None
      | Some sr =>
          if on_grid (bytes a) (page a) (base_address q) sr
          then Some (Spot (fst sr) (snd sr) (base_address q) (bars_of q ++
            flat_map (fun b => match wall n b with [] => [] | w => if meets rel a b then w else [] end) fixed))
          else None
      end.

  Definition finish rel fixed (g : M.t (list (row * Z))) a := Item (id a) (bytes a) (lives a) (group a) (pin a) (page a)
    (opens a) (map (fun nq => spot_of rel fixed a (fst nq) (snd nq) (parts_of g (id a)))
      (combine (seq 0 (length (pools p))) (pools p))).

  Definition is_sane :=
    forallb (fun r => (0 <? alignment r) && match offset_mod r with Some (m, _) => 0 <? m | None => true end &&
      match no_cross r with Some m => 0 <? m | None => true end) (rows p) &&
    forallb (fun q => 0 <? pool_alignment q) (pools p).
End Compile.

Record instance := Instance {
  solid : list item; index : M.t item; rel : relations; bars : list (list (Z * Z)); part_lists : M.t (list (row * Z))
}.

Definition is_solid r := match alias_of r with None => 0 <? size r | _ => false end.
Definition has_ties p := match may_share p with [] => existsb (fun r => match relative_to r with None => false | _ =>
  true end) (rows p) | _ => true end.

Definition compile p : option instance :=
  let m := number_rows (rows p) in
  let fuel := length (rows p) in
  let groups := fold_left (join m fuel) (rows p) (M.empty Z) in
  if negb (ascending (rows p) && is_sane p && forallb (joins m fuel groups) (rows p)) then None
  else match group_parts m fuel (rows p), pair_up m fuel (conflicts p), pair_up m fuel (may_share p) with
    | Some g, Some c, Some s =>
        let rel := Relations c s (has_ties p) in
        let cores := map (core p g groups) (filter is_solid (rows p)) in
        let fixed := filter (fun a => match pin a with Some _ => true | None => false end) cores in
        let items := map (finish p rel fixed g) cores in
        Some (Instance items (fold_left (fun m a => M.add (id a) a m) items (M.empty item)) rel
          (map bars_of (pools p)) g)
    | _, _, _ => None
    end.

(* What a plan of the problem is to the rules. *)
Record good (I : instance) (ends : list Z) (x : plan) : Prop := Good {
  good_spot : forall a, In a (solid I) -> 0 < bytes a /\ 0 <= offset x (id a) /\ exists e sp,
    nth_error ends (pool_of x (id a)) = Some e /\ nth_error (spots a) (pool_of x (id a)) = Some (Some sp) /\
    0 < step sp /\ offset x (id a) + bytes a <= e /\ is_legal (bytes a) (pin a) (page a) sp (offset x (id a));
  good_open : forall a, In a (solid I) -> In (pool_of x (id a)) (opens a);
  good_bars : forall a bs from until, In a (solid I) -> nth_error (bars I) (pool_of x (id a)) = Some bs ->
    In (from, until) bs -> from <= until /\ (offset x (id a) + bytes a <= from \/ until <= offset x (id a));
  good_apart : forall a b, In a (solid I) -> In b (solid I) -> meets (rel I) a b = true ->
    pool_of x (id a) = pool_of x (id b) -> apart (offset x (id a)) (bytes a) (offset x (id b)) (bytes b)
}.

Record sound (I : instance) : Prop := Sound {
  index_sound : forall i a, M.find i (index I) = Some a -> In a (solid I) /\ id a = i;
  solid_ordered : ForallOrdPairs (fun a b => id a < id b) (solid I)
}.
