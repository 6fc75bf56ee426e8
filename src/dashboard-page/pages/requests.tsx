/** The requests to the API server, by purpose, method and status. */
import type { JSX } from 'preact'
import type { RequestRow } from '../../dashboard/protocol.ts'
import { useLive } from '../live.ts'
import { PageTitle, Panel, Placeholder } from '../parts/containers.tsx'
import { formatCount, formatRate } from '../parts/format.ts'
import { Badge } from '../parts/state.tsx'
import { type SortableColumn, Table } from '../parts/table.tsx'
import { Milliseconds } from '../parts/times.tsx'

export function RequestsPage(): JSX.Element {
  const { data } = useLive('requests', '')
  if (data === undefined) return <PageTitle title="Requests" isLoading />
  const { rows, total, perSecond } = data
  const purposes = summarize(rows)
  return (
    <>
      <PageTitle title="Requests" detail={`${formatCount(total)} in all, ${formatRate(perSecond)} per second`} />
      {rows.length === 0 ? (
        <Placeholder>The operator has sent no request.</Placeholder>
      ) : (
        <div class="columns">
          <Panel title="By purpose, method and status">
            <Table label="Requests" rows={rows} columns={columns} keyOf={keyOf} sortBy="Requests" />
          </Panel>
          <Panel title="By purpose">
            <ul class="shares">
              {purposes.map(([purpose, count]) => (
                <li key={purpose}>
                  <span>{purpose}</span>
                  <span class="number">{formatCount(count)}</span>
                  <span class="share" aria-hidden="true">
                    <span style={{ width: `${(count / purposes[0]![1]) * 100}%` }} />
                  </span>
                </li>
              ))}
            </ul>
          </Panel>
        </div>
      )}
    </>
  )
}

function keyOf({ purpose, method, code }: RequestRow): string {
  return `${purpose} ${method} ${code}`
}

const columns: readonly SortableColumn<RequestRow>[] = [
  { name: 'Purpose', cell: ({ purpose }) => purpose, value: ({ purpose }) => purpose },
  { name: 'Method', cell: ({ method }) => <span class="mono">{method}</span>, value: ({ method }) => method },
  { name: 'Status', cell: ({ code }) => <Status code={code} />, value: ({ code }) => code },
  { name: 'Requests', isNumber: true, cell: ({ count }) => formatCount(count), value: ({ count }) => count },
  {
    name: 'Per second',
    isNumber: true,
    cell: ({ perSecond }) => formatRate(perSecond),
    value: ({ perSecond }) => perSecond,
  },
  { name: 'p50', isNumber: true, cell: ({ p50Ms }) => <Milliseconds ms={p50Ms} />, value: ({ p50Ms }) => p50Ms },
  { name: 'p99', isNumber: true, cell: ({ p99Ms }) => <Milliseconds ms={p99Ms} />, value: ({ p99Ms }) => p99Ms },
]

const words: Readonly<Record<string, string>> = {
  '401': 'not logged in',
  '403': 'no permission',
  '404': 'not found',
  '409': 'conflict',
  '410': 'too old',
  '422': 'invalid',
  '429': 'too many requests',
  error: 'no response',
}

/** Conflicts and objects that do not exist are normal in an operator. */
function Status({ code }: { readonly code: string }): JSX.Element {
  const text = words[code] === undefined ? code : `${code === 'error' ? '' : `${code} `}${words[code]}`
  if (/^[23]/.test(code)) {
    return (
      <Badge tone="good" icon="handled">
        {text}
      </Badge>
    )
  }
  const isNormal = ['404', '409', '410'].includes(code)
  return (
    <Badge tone={isNormal ? 'idle' : 'bad'} icon={isNormal ? 'info' : 'failed'}>
      {text}
    </Badge>
  )
}

/** The most frequent purpose is first. */
function summarize(rows: readonly RequestRow[]): (readonly [purpose: string, count: number])[] {
  const counts = new Map<string, number>()
  for (const { purpose, count } of rows) counts.set(purpose, (counts.get(purpose) ?? 0) + count)
  return [...counts].sort(([, one], [, other]) => other - one)
}
