/** Everything that fails now: what is the case, since when, for which objects, and what to do. */
import type { JSX } from 'preact'
import type { Problem } from '../../dashboard/protocol.ts'
import { useLive } from '../live.ts'
import { PageTitle } from '../parts/containers.tsx'
import { countOf } from '../parts/format.ts'
import { Icon } from '../parts/icons.tsx'
import { Badge, ObjectLink } from '../parts/state.tsx'
import { Distance } from '../parts/times.tsx'

export function ProblemsPage(): JSX.Element {
  const { data } = useLive('problems', '')
  if (data === undefined) return <PageTitle title="Problems" isLoading />
  const { problems } = data
  const errors = problems.filter(({ severity }) => severity === 'error')
  const warnings = problems.filter(({ severity }) => severity === 'warning')
  const detail = [
    errors.length > 0 && countOf(errors.length, 'error'),
    warnings.length > 0 && countOf(warnings.length, 'warning'),
  ]
  return (
    <>
      <PageTitle title="Problems" detail={detail.filter(Boolean).join(', ') || 'none'} />
      {problems.length === 0 && (
        <p class="banner good">
          <Icon name="handled" />
          <span>
            <strong>Nothing fails now.</strong> Handlers succeed, watches are open, and no object waits for a person.
          </span>
        </p>
      )}
      <ul class="problems">
        {[...errors, ...warnings].map((problem) => (
          <ProblemItem key={problem.id} problem={problem} />
        ))}
      </ul>
    </>
  )
}

function ProblemItem({ problem }: { readonly problem: Problem }): JSX.Element {
  const { severity, title, remedy, sinceMs, objects, moreObjects } = problem
  const isError = severity === 'error'
  return (
    <li class={`panel problem ${isError ? 'bad' : 'warn'}`}>
      <h2>{title}</h2>
      <p class="line">
        <Badge tone={isError ? 'bad' : 'warn'} icon={isError ? 'failed' : 'warning'}>
          {isError ? 'Error' : 'Warning'}
        </Badge>
        {sinceMs !== undefined && (
          <span class="muted">
            began <Distance atMs={sinceMs} />
          </span>
        )}
      </p>
      <p>
        <span class="muted">What to do:</span> {remedy}
      </p>
      {objects.length > 0 && (
        <ul class="problem-objects">
          {objects.map((one) => (
            <li key={`${one.resource} ${one.namespace}/${one.name}`}>
              <ObjectLink of={one} withResource />
            </li>
          ))}
          {moreObjects > 0 && <li class="muted">and {countOf(moreObjects, 'other object')}</li>}
        </ul>
      )}
    </li>
  )
}
