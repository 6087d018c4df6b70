/* An answer's end: its values are freed, the rest is data. */
#include "cfn/answer.h"

#include <stdlib.h>

void cfn_answer_release(struct cfn_answer *answer)
{
    free(answer->values);
    *answer = (struct cfn_answer){0};
}
