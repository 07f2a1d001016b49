(* The offsets that a buffer may have in one pool: a step and a rest, a page, a pin, and walls to keep out of. *)
From Coq Require Import ZArith Znumtheory List Lia Bool.
From Verified Require Import Spec.
Import ListNotations.
Open Scope Z_scope.

Lemma divides_mod m x : 0 < m -> (m | x) <-> x mod m = 0.
Proof. intros M. split; [apply Zdivide_mod|intros H; apply Zmod_divide; auto with zarith]. Qed.

(* An inverse, by Euclid's algorithm; what it is good for is checked where it is used. *)
Fixpoint bezout fuel a x b y := match fuel with
  | O => x
  | S f => if b =? 0 then x else bezout f b y (a - a / b * b) (x - a / b * y)
  end.
Definition turns := Nat.mul 20 10.
Global Opaque turns.

(* Offsets that leave `rest` by `step` and r by m. *)
Definition narrow (sr : Z * Z) (rule : Z * Z) : option (Z * Z) :=
  let (step, rest) := sr in
  let (m, r) := rule in
  if step mod m =? 0 then if (rest - r) mod m =? 0 then Some sr else None
  else
    let g := Z.gcd step m in
    if negb ((r - rest) mod g =? 0) then None
    else
      let more := m / g in
      let both := rest + step * (((r - rest) / g * bezout turns (step / g) 1 more 0) mod more) in
      let next := step / g * m in
      if (0 <? next) && (next =? Z.lcm step m) && ((both - rest) mod step =? 0) && ((both - r) mod m =? 0)
      then Some (next, both mod next) else Some sr.

Lemma narrow_sound step rest m r x : 0 < step -> 0 < m -> (step | x - rest) -> (m | x - r) ->
  exists s t, narrow (step, rest) (m, r) = Some (s, t) /\ 0 < s /\ (s | x - t).
Proof.
  intros S M HS HM. unfold narrow. destruct (step mod m =? 0) eqn:E.
  - apply Z.eqb_eq, divides_mod in E; auto.
    assert (H : (m | rest - r)).
    { replace (rest - r) with (x - r - (x - rest)) by lia. apply Z.divide_sub_r; auto. now apply Z.divide_trans with
      step. }
    apply divides_mod in H; auto. rewrite H, Z.eqb_refl. eauto.
  - assert (G : 0 < Z.gcd step m).
    { pose proof (Z.gcd_nonneg step m). assert (Z.gcd step m <> 0); [|lia]. intros Z0. apply Z.gcd_eq_0_l in Z0. lia. }
    assert (H : (r - rest) mod Z.gcd step m = 0).
    { apply divides_mod; auto. replace (r - rest) with (x - rest - (x - r)) by lia.
      apply Z.divide_sub_r; [apply Z.divide_trans with step|apply Z.divide_trans with m]; auto using Z.gcd_divide_l,
        Z.gcd_divide_r. }
    rewrite H, Z.eqb_refl. cbn [negb].
    set (both := rest + _). destruct (_ && _) eqn:C; [|eauto].
    rewrite !andb_true_iff, Z.ltb_lt, !Z.eqb_eq in C. destruct C as [[[C1 C2] C3] C4].
    apply divides_mod in C3, C4; auto.
    eexists _, _; split; [reflexivity|split; [exact C1|]].
    set (next := step / _ * m) in *. rewrite (Z.mod_eq both next) by lia.
    replace (x - (both - next * (both / next))) with (x - both + both / next * next) by lia.
    apply Z.divide_add_r; [|apply Z.divide_factor_r].
    rewrite C2. apply Z.lcm_least.
    + replace (x - both) with (x - rest - (both - rest)) by lia. now apply Z.divide_sub_r.
    + replace (x - both) with (x - r - (both - r)) by lia. now apply Z.divide_sub_r.
Qed.

Fixpoint narrow_all sr rules := match rules with
  | [] => Some sr
  | rule :: t => match narrow sr rule with Some more => narrow_all more t | None => None end
  end.

Lemma narrow_all_sound x rules : forall step rest, 0 < step -> (step | x - rest) ->
  (forall m r, In (m, r) rules -> 0 < m /\ (m | x - r)) ->
  exists s t, narrow_all (step, rest) rules = Some (s, t) /\ 0 < s /\ (s | x - t).
Proof.
  induction rules as [|[m r] l IH]; intros step rest S H D; cbn [narrow_all]; [eauto|].
  destruct (D m r) as [M HM]; [now left|].
  destruct (narrow_sound step rest m r x S M H HM) as (s & t & E & S' & H'). rewrite E.
  apply IH; auto. intros; apply D; now right.
Qed.

(* Where a buffer may be in a pool, before it is said where the pool ends. *)
Record spot := Spot { step : Z; rest : Z; base : Z; walls : list (Z * Z) }.

Section Legal.
  Variables (size : Z) (pin page : option Z).

  Definition crosses base x := match page with Some m => m <? (base + x) mod m + size | None => false end.

  Definition on_grid base (sr : Z * Z) :=
    match page with Some m => (base + snd sr) mod Z.gcd (fst sr) m + size <=? m | None => true end.

  Lemma on_grid_sound base s t x m : 0 < s -> 0 < m -> (s | x - t) -> page = Some m ->
    (base + x) mod m + size <= m -> on_grid base (s, t) = true.
  Proof.
    intros S M D E C. unfold on_grid. rewrite E. apply Z.leb_le. cbn [fst snd].
    set (g := Z.gcd s m).
    assert (G : 0 < g).
    { pose proof (Z.gcd_nonneg s m). assert (g <> 0); [|lia]. intros Z0. apply Z.gcd_eq_0_l in Z0. lia. }
    assert (F : (base + t) mod g = ((base + x) mod m) mod g).
    { rewrite <- Zmod_div_mod; try lia; [|apply Z.gcd_divide_r].
      replace (base + t) with (base + x - (x - t)) by lia.
      assert ((g | x - t)) as [k ->] by (apply Z.divide_trans with s; [apply Z.gcd_divide_l|exact D]).
      rewrite Zminus_mod, Z.mod_mul, Z.sub_0_r, Z.mod_mod; lia. }
    rewrite F. pose proof (Z.mod_le ((base + x) mod m) g). pose proof (Z.mod_pos_bound (base + x) m M). lia.
  Qed.

  Fixpoint over_walls walls x top := match walls with
    | [] => top
    | (from, until) :: t => over_walls t x (if (from <? x + size) && (x <? until) then Z.max top until else top)
    end.

  Lemma over_walls_sound x y ws : 0 < size -> x <= y ->
    (forall from until, In (from, until) ws -> y + size <= from \/ until <= y) ->
    forall top, top <= y -> over_walls ws x top <= y.
  Proof.
    intros S L. induction ws as [|[from until] t IH]; intros H top T; simpl; auto.
    apply IH; [intros; apply H; now right|].
    destruct (from <? x + size) eqn:E, (x <? until) eqn:F; simpl; auto.
    apply Z.ltb_lt in E, F. specialize (H from until (or_introl eq_refl)). lia.
  Qed.

  (* One move up: no legal offset is jumped over. *)
  Definition next sp x : option Z :=
    match match pin with None => Some x | Some k => if x <=? k then Some k else None end with
    | None => None
    | Some x =>
        let x := over_walls (walls sp) x (x + (rest sp - x) mod step sp) in
        Some (if crosses (base sp) x then match page with Some m => x + (- (base sp + x)) mod m | None => x end else x)
    end.

  Definition is_legal sp y :=
    (step sp | y - rest sp) /\ (forall k, pin = Some k -> y = k) /\
    (forall m, page = Some m -> 0 < m /\ (base sp + y) mod m + size <= m) /\
    (forall from until, In (from, until) (walls sp) -> y + size <= from \/ until <= y).

  Lemma to_grid s t x y : 0 < s -> (s | y - t) -> x <= y -> x + (t - x) mod s <= y.
  Proof.
    intros S [k E] L. replace (t - x) with (y - x + (- k) * s) by lia. rewrite Z.mod_add by lia.
    pose proof (Z.mod_le (y - x) s). lia.
  Qed.

  Lemma to_page m a b s : 0 < m -> a <= b -> m < a mod m + s -> b mod m + s <= m -> a + (- a) mod m <= b.
  Proof.
    intros M L C D. pose proof (Z.mod_pos_bound a m M). pose proof (Z.mod_pos_bound b m M).
    assert (N : a mod m <> 0) by lia. rewrite Z.mod_opp_l_nz by lia.
    pose proof (Z.div_mod a m ltac:(lia)). pose proof (Z.div_mod b m ltac:(lia)).
    assert (a / m < b / m); [|nia]. assert (a / m <= b / m) by (apply Z.div_le_mono; lia). nia.
  Qed.

  Lemma next_sound sp x y : 0 < step sp -> 0 < size -> is_legal sp y -> x <= y ->
    exists z, next sp x = Some z /\ z <= y.
  Proof.
    intros S P (G & K & C & W) L. unfold next.
    assert (exists x', match pin with None => Some x | Some k => if x <=? k then Some k else None end = Some x' /\ x'
      <= y)
      as (x' & -> & L').
    { destruct pin as [k|]; [|eauto]. specialize (K k eq_refl) as ->.
      rewrite (proj2 (Z.leb_le _ _) L). eexists; split; [reflexivity|lia]. }
    eexists; split; [reflexivity|].
    set (z := over_walls _ _ _).
    assert (Z : z <= y) by (apply over_walls_sound; auto; now apply to_grid).
    unfold crosses. destruct page as [m|]; [|lia].
    specialize (C m eq_refl) as [M C]. destruct (m <? _) eqn:E; [|lia]. apply Z.ltb_lt in E.
    pose proof (to_page m (base sp + z) (base sp + y) size M ltac:(lia) E C). lia.
  Qed.

  (* A number that no legal offset from x on is below; the first of them, but after very many moves. *)
  Fixpoint climb fuel sp last x : option Z :=
    if last <? x then None else match fuel with
    | O => Some x
    | S f => match next sp x with Some y => if y <=? x then Some x else climb f sp last y | None => None end
    end.

  Lemma climb_sound sp last y : 0 < step sp -> 0 < size -> is_legal sp y -> y <= last ->
    forall fuel x, x <= y -> exists z, climb fuel sp last x = Some z /\ x <= z <= y.
  Proof.
    intros S P H B. induction fuel as [|f IH]; intros x L; simpl;
      rewrite (proj2 (Z.ltb_ge _ _)) by lia; [exists x; split; [reflexivity|lia]|].
    destruct (next_sound sp x y S P H L) as (z & -> & Lz).
    destruct (z <=? x) eqn:E; [exists x; split; [reflexivity|lia]|].
    apply Z.leb_gt in E. destruct (IH z Lz) as (w & -> & ?). exists w; split; [reflexivity|lia].
  Qed.
End Legal.

Definition many := Nat.mul 100 10.
Global Opaque many.
