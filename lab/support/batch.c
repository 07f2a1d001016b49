/* check.c for many certificates: reads from its input, a pair after the other, what would be its words and its files;
   a child answers each, since check.c ends where something is wrong. Compiled with -DCHECK='"path of check.c"'. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static char *text[2];
static size_t size[2];
static FILE *opened(const char *path, const char *mode) {
  int k = path[0] == 'c';
  return size[k] ? fmemopen(text[k], size[k], "rb") : fopen("/dev/null", mode);
}
#define fopen(path, mode) opened(path, mode)
#define main check_main
#include CHECK
#undef main
int main(void) {
  int words;
  while (scanf("%d %zu %zu", &words, &size[0], &size[1]) == 3) {
    char *arg[80] = {"check"};
    if (getchar() != '\n' || words > 70) return 1;
    for (int k = 1; k <= words; k++) {
      size_t room = 0;
      arg[k] = NULL;
      ssize_t got = getline(&arg[k], &room, stdin);
      if (got < 1) return 1;
      arg[k][got - 1] = 0;
    }
    for (int k = 0; k < 2; k++)
      if (!(text[k] = malloc(size[k] + 1)) || fread(text[k], 1, size[k], stdin) != size[k]) return 1;
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (!child) exit(check_main(words + 1, arg));
    waitpid(child, &status, 0);
    printf("\001%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)), fflush(stdout);
    for (int k = 1; k <= words; k++) free(arg[k]);
    free(text[0]), free(text[1]);
  }
  return 0;
}
