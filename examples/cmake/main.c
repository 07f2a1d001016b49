#include "arena.h"
#include <stdio.h>

int main(void)
{
    unsigned char *image = ARENA_ADDRESS_image;
    image[ARENA_SIZE_image - 1] = 1;
    printf("%u bytes, conv1 at %u\n", ARENA_POOL_SIZE_sram, ARENA_OFFSET_conv1);
    return 0;
}
