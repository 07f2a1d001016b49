(* The smallest problem that says something: the definitions are not empty, and a certificate is taken. *)
From Coq Require Import ZArith List Lia Bool.
From Verified Require Import Spec Rules Checker Main.
Import ListNotations.
Open Scope Z_scope.

(* Two buffers of 9 bytes that are alive together, at multiples of 2. *)
Definition nine k := Row k 9 [(0, 1)] 2 None None None [0%nat] None None 0.
Definition two_nines := Problem [nine 0; nine 1] [Pool None 1 0 [] 0] [] [] 1.

Definition side_by_side : plan := fun i => (0%nat, if i =? 0 then 0 else 10).

Lemma side_by_side_is_plan : is_plan two_nines side_by_side /\ ends_by two_nines side_by_side [19].
Proof.
  split; [split|].
  - intros r [<-|[<-|[]]]; exists (Pool None 1 0 [] 0); cbn; repeat split; try discriminate; try tauto; try lia;
      try (now exists 0); try (now exists 5); apply Z.divide_1_l.
  - intros r s [<-|[<-|[]]] [<-|[<-|[]]] N _ _ _ _ _ _; cbn in *; unfold apart; lia.
  - intros r [<-|[<-|[]]] _; exists 19; cbn; split; (reflexivity || lia).
Qed.

(* The text: memplan-lemmas/1, sizes -, used 19, claim 18, set time 0, end @0:2:0:1. *)
Definition nineteen := Certificate [None] (used [Some 19]) [Part [18] [time_set 0] (by_set 0 2 0 1) None].

Lemma nineteen_is_taken : check two_nines nineteen = true.
Proof. vm_compute. reflexivity. Qed.

(* So no plan of the two ends at 18 or below. *)
Corollary nineteen_is_least x : is_plan two_nines x -> ~ ends_by two_nines x [18].
Proof. intros P L. apply (check_sound _ _ nineteen_is_taken [18] None x); auto. now left. Qed.
