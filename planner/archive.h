/* What a profile is measured with, as one tar archive (output `segments`, artifact segments.tar):
 *
 *   programs.json             the manifest: mesh, devices, kinds and pairs of segments, every program with
 *   its digest,
 *                             file, what it stands for, whether it was proved
 *   programs/DIGEST.mlir      modules to compile and run (manual form); equal ones once
 *   originals/DIGEST.mlir     what each kind's and pair's programs are equal to, without a mesh
 *
 * clients/python's toast_profile reads it. The same module, mesh and pins give the same bytes. */
#ifndef TOAST_PLANNER_ARCHIVE_H
#define TOAST_PLANNER_ARCHIVE_H

#include "segments/programs.h"

/* prove: every program against its original; ERROR_INTERNAL naming the first that is different. *out:
 * appended to. Else errors of segments_programs_create and segments_program_write. */
enum error_code planner_archive_write(const struct plan_context *context, const char module_digest[65],
                                      bool prove, uint64_t seed, struct text *out,
                                      struct error *e) BASE_CHECKED;

#endif
