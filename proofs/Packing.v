(* Disjoint ranges of bytes, and how much room there is for them between others. *)
From Coq Require Import ZArith List Lia Permutation.
Import ListNotations.
Open Scope Z_scope.

Fixpoint total {A} (w : A -> Z) l := match l with [] => 0 | a :: t => w a + total w t end.

Lemma total_app {A} (w : A -> Z) l m : total w (l ++ m) = total w l + total w m.
Proof. induction l; simpl; lia. Qed.

Lemma total_split {A} (w : A -> Z) f l :
  total w l = total w (filter f l) + total w (filter (fun a => negb (f a)) l).
Proof. induction l as [|a t IH]; simpl; [lia|]. destruct (f a); simpl; lia. Qed.

Lemma length_split {A} (f : A -> bool) l :
  (length (filter f l) <= length l)%nat.
Proof. induction l as [|a t IH]; simpl; [lia|]. destruct (f a); simpl; lia. Qed.

Lemma total_le {A} (v w : A -> Z) l : (forall a, In a l -> v a <= w a) -> total v l <= total w l.
Proof. induction l as [|a t IH]; simpl; intros H; [lia|]. specialize (IH (fun b h => H b (or_intror h))). specialize (H
  a (or_introl eq_refl)). lia. Qed.

Lemma total_ext {A} (v w : A -> Z) l : (forall a, In a l -> v a = w a) -> total v l = total w l.
Proof. induction l as [|a t IH]; simpl; intros H; [lia|]. rewrite IH, (H a); auto. Qed.

Lemma pairs_filter {A} (R : A -> A -> Prop) f l : ForallOrdPairs R l -> ForallOrdPairs R (filter f l).
Proof.
  induction 1 as [|a l Ha Hl IH]; simpl; [constructor|]. destruct (f a); [constructor|]; auto.
  rewrite Forall_forall in *. intros b Hb. apply filter_In in Hb. apply Ha, Hb.
Qed.

Lemma pairs_impl {A} (R S : A -> A -> Prop) l :
  (forall a b, In a l -> In b l -> R a b -> S a b) -> ForallOrdPairs R l -> ForallOrdPairs S l.
Proof.
  intros H D. revert H. induction D as [|a l Ha Hl IH]; intros H; constructor.
  - rewrite Forall_forall in *. intros b Hb. apply H; simpl; auto.
  - apply IH. intros; apply H; simpl; auto.
Qed.

(* Ranges side by side between lo and hi take no more than there is, whatever grows with the offset counts as room. *)
Section Pack.
  Context {A : Type} (room : Z -> Z) (start stop w : A -> Z).
  Hypothesis grows : forall x y, x <= y -> room x <= room y.

  Lemma pack_n n : forall l lo hi, (length l <= n)%nat ->
    ForallOrdPairs (fun a b => stop a <= start b \/ stop b <= start a) l ->
    Forall (fun a => lo <= start a /\ start a <= stop a /\ stop a <= hi /\ w a <= room (stop a) - room (start a)) l ->
    lo <= hi -> total w l <= room hi - room lo.
  Proof.
    induction n as [|n IH]; intros [|a t] lo hi Hn D F L; simpl in *; try lia;
      try (specialize (grows lo hi L); lia).
    inversion_clear D as [|? ? Da Dt]. inversion_clear F as [|? ? Fa Ft].
    rewrite Forall_forall in Da, Ft.
    set (f := fun b => stop b <=? start a).
    pose proof (length_split f t). pose proof (length_split (fun b => negb (f b)) t).
    assert (B : total w (filter f t) <= room (start a) - room lo).
    { apply IH; [lia|now apply pairs_filter| |lia].
      apply Forall_forall. intros b Hb. apply filter_In in Hb as [Hb E]. apply Z.leb_le in E.
      specialize (Ft b Hb). cbv beta in Ft. lia. }
    assert (C : total w (filter (fun b => negb (f b)) t) <= room hi - room (stop a)).
    { apply IH; [lia|now apply pairs_filter| |lia].
      apply Forall_forall. intros b Hb. apply filter_In in Hb as [Hb E].
      apply Bool.negb_true_iff, Z.leb_gt in E. specialize (Ft b Hb). specialize (Da b Hb). cbv beta in *. lia. }
    rewrite (total_split w f t). lia.
  Qed.

  Lemma pack l lo hi : lo <= hi ->
    ForallOrdPairs (fun a b => stop a <= start b \/ stop b <= start a) l ->
    Forall (fun a => lo <= start a /\ start a <= stop a /\ stop a <= hi /\ w a <= room (stop a) - room (start a)) l ->
    total w l <= room hi - room lo.
  Proof. intros. now apply (pack_n (length l)). Qed.
End Pack.

(* The room between lo and x outside of some blocks, ascending, in whole granules between two blocks. *)
Definition whole g x := x / g * g.
Fixpoint room g (blocks : list (Z * Z)) lo x := match blocks with
  | [] => whole g (Z.max 0 (x - lo))
  | (from, until) :: t => whole g (Z.max 0 (Z.min x from - lo)) + room g t (Z.max lo until) x
  end.

Lemma whole_le g x y : 0 < g -> x <= y -> whole g x <= whole g y.
Proof. intros G L. apply Z.mul_le_mono_nonneg_r; [lia|]. now apply Z.div_le_mono. Qed.

Lemma room_grows g blocks : 0 < g -> forall lo x y, x <= y -> room g blocks lo x <= room g blocks lo y.
Proof.
  intros G. induction blocks as [|[from until] t IH]; intros lo x y L; simpl.
  - apply whole_le; lia.
  - pose proof (whole_le g (Z.max 0 (Z.min x from - lo)) (Z.max 0 (Z.min y from - lo)) G ltac:(lia)).
    specialize (IH (Z.max lo until) x y L). lia.
Qed.

Lemma whole_0 g : whole g 0 = 0.
Proof. unfold whole. now rewrite Zdiv_0_l. Qed.

Lemma room_none g blocks : forall lo x, x <= lo -> room g blocks lo x = 0.
Proof.
  induction blocks as [|[from until] t IH]; intros lo x L; simpl.
  - rewrite Z.max_l by lia. apply whole_0.
  - rewrite IH by lia. rewrite Z.max_l by lia. now rewrite whole_0.
Qed.

Lemma whole_more g x s : 0 < g -> (g | s) -> whole g (x + s) = whole g x + s.
Proof. intros G [k ->]. unfold whole. rewrite Z.div_add by lia. lia. Qed.

Lemma room_more g blocks s : 0 < g -> 0 <= s -> (g | s) -> forall lo x, lo <= x ->
  (forall from until, In (from, until) blocks -> from <= until /\ (x + s <= from \/ until <= x)) ->
  room g blocks lo (x + s) = room g blocks lo x + s.
Proof.
  intros G S D. induction blocks as [|[from until] t IH]; intros lo x L H; simpl.
  - rewrite !Z.max_r by lia. replace (x + s - lo) with (x - lo + s) by lia. now apply whole_more.
  - destruct (H from until) as [O [B|B]]; [now left| |].
    + rewrite !(room_none g t) by lia. rewrite !Z.min_l by lia.
      rewrite !Z.max_r by lia. replace (x + s - lo) with (x - lo + s) by lia. rewrite whole_more by auto. lia.
    + rewrite !Z.min_r by lia. rewrite IH; [lia|lia|]. intros; apply H. now right.
Qed.
