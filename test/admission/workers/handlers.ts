/** Admission handlers that worker threads run, for the tests of admission in workers. */
import { AdmissionError, type WorkerArgs } from 'kopf'

type Args = WorkerArgs<'mutate', 'widgets'>

/** Returns its arguments as warnings. */
export function look(args: Args): void {
  const { operation, subresource, dryrun, userinfo, headers, old, new: now, diff, warnings, patch } = args
  warnings.push(JSON.stringify({ operation, subresource, dryrun, userinfo, headers, old, now, diff }))
  patch.spec['size'] = 2
}

export function refuse({ warnings, patch }: Args): void {
  warnings.push('about to be refused')
  patch.spec['colour'] = 'red'
  throw new AdmissionError('not in this colour', { status: 422 })
}

export function warnOddly({ warnings }: Args): void {
  ;(warnings as unknown[]).push(() => {}, new Error('an error'), 5)
}

export function double({ spec }: { spec: { n: bigint } }): object {
  return { spec: { n: spec.n * 2n } }
}
