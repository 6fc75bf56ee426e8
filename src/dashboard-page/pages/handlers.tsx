/** Calls, errors and durations of each handler. */
import type { JSX } from 'preact'
import type { HandlerRow } from '../../dashboard/protocol.ts'
import { useLive } from '../live.ts'
import { PageTitle, Panel, Placeholder } from '../parts/containers.tsx'
import { countOf, formatCount, formatDuration } from '../parts/format.ts'
import { Badge, ObjectLink, ResourceName } from '../parts/state.tsx'
import { type SortableColumn, Table } from '../parts/table.tsx'
import { Distance, Milliseconds } from '../parts/times.tsx'

export function HandlersPage(): JSX.Element {
  const { data } = useLive('handlers', '')
  if (data === undefined) return <PageTitle title="Handlers" isLoading />
  const { handlers } = data
  const errors = handlers.filter(({ lastError }) => lastError !== undefined)
  const slow = handlers.filter(({ slowest }) => slowest.length > 0)
  return (
    <>
      <PageTitle title="Handlers" detail={countOf(handlers.length, 'handler')} />
      <Panel title="Calls" note="since the start of the operator; durations of the last 1,000 calls">
        {handlers.length === 0 ? (
          <Placeholder>The operator has no handlers.</Placeholder>
        ) : (
          <Table label="Handlers" rows={handlers} columns={columns} keyOf={keyOf} sortBy="Calls" />
        )}
      </Panel>
      <div class="columns even">
        <LastErrors handlers={errors} />
        <Slowest handlers={slow} />
      </div>
    </>
  )
}

function keyOf({ id, type, resource }: HandlerRow): string {
  return `${type} ${id} ${resource}`
}

const columns: readonly SortableColumn<HandlerRow>[] = [
  {
    name: 'Handler',
    cell: ({ id, type }) => (
      <span>
        <strong class="mono">{id}</strong> <span class="muted">{type}</span>
      </span>
    ),
    value: ({ id }) => id,
  },
  {
    name: 'Resource',
    cell: ({ resource }) =>
      resource === undefined ? <span class="muted">–</span> : <ResourceName resource={resource} />,
    value: ({ resource }) => resource,
  },
  { name: 'Calls', isNumber: true, cell: ({ calls }) => formatCount(calls), value: ({ calls }) => calls },
  {
    name: 'Running',
    isNumber: true,
    cell: ({ running }) => <Amount count={running} tone="busy" icon="handling" />,
    value: ({ running }) => running,
  },
  {
    name: 'Retries',
    isNumber: true,
    cell: ({ retrying }) => <Amount count={retrying} tone="warn" icon="retrying" />,
    value: ({ retrying }) => retrying,
  },
  {
    name: 'Failed',
    isNumber: true,
    cell: ({ failed }) => <Amount count={failed} tone="bad" icon="failed" />,
    value: ({ failed }) => failed,
  },
  { name: 'p50', isNumber: true, cell: ({ p50Ms }) => <Milliseconds ms={p50Ms} />, value: ({ p50Ms }) => p50Ms },
  { name: 'p99', isNumber: true, cell: ({ p99Ms }) => <Milliseconds ms={p99Ms} />, value: ({ p99Ms }) => p99Ms },
]

function Amount(props: {
  readonly count: number
  readonly tone: 'busy' | 'warn' | 'bad'
  readonly icon: 'handling' | 'retrying' | 'failed'
}): JSX.Element {
  const { count, tone, icon } = props
  return count === 0 ? (
    <span class="muted">0</span>
  ) : (
    <Badge tone={tone} icon={icon}>
      {formatCount(count)}
    </Badge>
  )
}

function LastErrors({ handlers }: { readonly handlers: readonly HandlerRow[] }): JSX.Element {
  const rows = handlers.toSorted((one, other) => (other.lastErrorAtMs ?? 0) - (one.lastErrorAtMs ?? 0))
  return (
    <Panel title="Last errors">
      {rows.length === 0 && <Placeholder>No handler has thrown an error.</Placeholder>}
      <ul class="list">
        {rows.map((row) => (
          <li key={keyOf(row)}>
            <strong class="mono">{row.id}</strong>{' '}
            <span class="muted">
              {row.type}, <Distance atMs={row.lastErrorAtMs} />
            </span>
            <p class="error-text">{row.lastError}</p>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Slowest({ handlers }: { readonly handlers: readonly HandlerRow[] }): JSX.Element {
  return (
    <Panel title="Slowest objects">
      {handlers.length === 0 && <Placeholder>No handler has been called.</Placeholder>}
      <ul class="list">
        {handlers.map((row) => (
          <li key={keyOf(row)}>
            <strong class="mono">{row.id}</strong> <span class="muted">{row.type}</span>
            <ol class="slowest">
              {row.slowest.map((one) => (
                <li key={`${one.namespace}/${one.name}`}>
                  <ObjectLink of={one} /> <span class="number">{formatDuration(one.durationMs)}</span>
                </li>
              ))}
            </ol>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
