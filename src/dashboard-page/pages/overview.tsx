/** The overview: how the operator is, rates of the last ten minutes, and the objects of each resource by state. */
import type { ComponentChildren, JSX } from 'preact'
import type { ObjectState, OverviewView, ResourceSummary } from '../../dashboard/protocol.ts'
import { useLive } from '../live.ts'
import { PageTitle, Panel, Placeholder } from '../parts/containers.tsx'
import { countOf, formatBytes, formatCount, formatDuration } from '../parts/format.ts'
import { Icon } from '../parts/icons.tsx'
import { Tile } from '../parts/sparkline.tsx'
import { Badge, ResourceName, StateBar, StateCounts, states, type Tone } from '../parts/state.tsx'
import { type SortableColumn, Table } from '../parts/table.tsx'
import { nowMs } from '../parts/times.tsx'
import { toHash } from '../route.ts'

export function OverviewPage(): JSX.Element {
  const { data } = useLive('overview', '')
  if (data === undefined) return <PageTitle title="Overview" isLoading />
  return (
    <>
      <PageTitle title="Overview" {...(data.operator.name !== undefined && { detail: data.operator.name })} />
      <ProblemsNotice count={data.problems} />
      <OperatorLine view={data} />
      <Tiles view={data} />
      <Objects resources={data.resources} />
      <Resources resources={data.resources} />
      <Process view={data} />
    </>
  )
}

function ProblemsNotice({ count }: { readonly count: number }): JSX.Element {
  return count === 0 ? (
    <p class="banner good">
      <Icon name="handled" /> <span>Nothing fails now.</span>
    </p>
  ) : (
    <p class="banner warn">
      <Icon name="warning" />
      <span>
        <strong>{countOf(count, 'problem')}</strong> now. <a href={toHash('problems')}>See what to do</a>
      </span>
    </p>
  )
}

const phases: Readonly<Record<OverviewView['operator']['phase'], readonly [Tone, string]>> = {
  starting: ['busy', 'Starting'],
  running: ['good', 'Running'],
  stopping: ['warn', 'Stopping'],
  stopped: ['bad', 'Stopped'],
}

const leaders: Readonly<Record<OverviewView['operator']['leader'], readonly [Tone, string] | undefined>> = {
  none: undefined,
  awaited: ['idle', 'Waits for the leader election'],
  candidate: ['idle', 'Not the leader'],
  leading: ['good', 'Leader'],
  lost: ['bad', 'Leadership lost'],
}

function OperatorLine({ view: { operator, readiness } }: { readonly view: OverviewView }): JSX.Element {
  const [tone, word] = phases[operator.phase]
  const leader = leaders[operator.leader]
  const failing = Object.entries(readiness.checks).filter(([, { ok }]) => !ok)
  return (
    <div class="line">
      <Badge tone={tone} icon={tone === 'good' ? 'play' : 'waiting'}>
        {word}
      </Badge>
      {leader !== undefined && (
        <Badge tone={leader[0]} icon="person">
          {leader[1]}
        </Badge>
      )}
      {readiness.ready ? (
        <Badge tone="good" icon="handled">
          Ready
        </Badge>
      ) : (
        <Badge tone="warn" icon="waiting">
          Not ready{failing.length > 0 && `: ${failing.map(([name]) => name).join(', ')}`}
        </Badge>
      )}
      {operator.isPaused && (
        <Badge tone="warn" icon="pause">
          Paused by another operator
        </Badge>
      )}
      {operator.pausedNamespaces.length > 0 && (
        <Badge tone="warn" icon="pause">
          Paused in {operator.pausedNamespaces.slice(0, 3).join(', ')}
          {operator.pausedNamespaces.length > 3 && ` and ${operator.pausedNamespaces.length - 3} more`}
        </Badge>
      )}
      <span class="muted">
        up {formatDuration(Math.max(0, nowMs.value - operator.startedAtMs))} · kopf {operator.version} · Node{' '}
        {operator.node.replace(/^v/, '')}
        {operator.server !== undefined && <> · {operator.server}</>}
      </span>
    </div>
  )
}

function Tiles({ view: { history, queue, eventLoop } }: { readonly view: OverviewView }): JSX.Element {
  return (
    <dl class="tiles" aria-label="Rates of the last ten minutes">
      <Tile
        label="Watch events"
        unit="/s"
        field="events"
        history={history}
        meaning="Events received from the API server, per second"
      />
      <Tile
        label="Handler calls"
        unit="/s"
        field="handlerCalls"
        history={history}
        meaning="Calls of handlers, per second"
      />
      <Tile
        label="Handler errors"
        unit="/s"
        field="handlerErrors"
        history={history}
        limit={0}
        meaning="Calls that threw an error, per second"
      />
      <Tile
        label="Requests"
        unit="/s"
        field="requests"
        history={history}
        meaning="Requests to the API server, per second"
      />
      <Tile
        label="Queue"
        field="queue"
        history={history}
        value={queue.waiting}
        limit={100}
        meaning={`Objects that wait for a worker. ${countOf(queue.active, 'worker')} busy; the longest wait is ${formatDuration(queue.longestWaitSeconds * 1000)}.`}
      />
      <Tile
        label="Event loop lag"
        unit="ms"
        field="lagMs"
        history={history}
        value={eventLoop.lagMs}
        limit={100}
        meaning="How late timers fire: handlers that compute for long delay all others"
      />
    </dl>
  )
}

function Objects({ resources }: { readonly resources: readonly ResourceSummary[] }): JSX.Element {
  const counts = Object.fromEntries(
    states.map((state) => [state, resources.reduce((sum, one) => sum + (one.states?.[state] ?? 0), 0)]),
  ) as Record<ObjectState, number>
  const total = states.reduce((sum, state) => sum + counts[state], 0)
  return (
    <Panel title="Objects" note={countOf(total, 'object')}>
      <StateBar counts={counts} />
      <StateCounts counts={counts} />
    </Panel>
  )
}

const columns: readonly SortableColumn<ResourceSummary>[] = [
  {
    name: 'Resource',
    cell: ({ resource }) => (
      <a class="plain" href={toHash('objects', { resource })}>
        <ResourceName resource={resource} />
      </a>
    ),
    value: ({ resource }) => resource,
  },
  {
    name: 'Objects',
    isNumber: true,
    cell: ({ states: counts }) =>
      counts === undefined ? <span class="muted">no permission</span> : formatCount(sum(counts)),
    value: ({ states: counts }) => (counts === undefined ? undefined : sum(counts)),
  },
  {
    name: 'States',
    cell: ({ resource, states: counts }) =>
      counts === undefined ? '–' : <StateCounts counts={counts} resource={resource} />,
  },
  {
    name: 'Handlers',
    cell: ({ handlers }) => (
      <span title={handlers.map(({ id, type }) => `${type} ${id}`).join('\n')}>{summarize(handlers)}</span>
    ),
  },
  { name: 'Watches', cell: ({ streams }) => <Streams streams={streams} /> },
]

function sum(counts: Readonly<Record<ObjectState, number>>): number {
  return states.reduce((total, state) => total + counts[state], 0)
}

/** `2 create, 1 timer` */
function summarize(handlers: ResourceSummary['handlers']): string {
  const counts = new Map<string, number>()
  for (const { type } of handlers) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].map(([type, count]) => `${count} ${type}`).join(', ')
}

function Streams({ streams }: { readonly streams: ResourceSummary['streams'] }): JSX.Element {
  const { open, down, restarts, silenceSeconds } = streams
  const silence = silenceSeconds === undefined ? '' : `Last data ${formatDuration(silenceSeconds * 1000)} ago. `
  const title = `${silence}${countOf(restarts, 'restart')}.`
  return down > 0 ? (
    <Badge tone="bad" icon="failed" title={title}>
      {down} down
    </Badge>
  ) : (
    <Badge tone="good" icon="handled" title={title}>
      {open} open
    </Badge>
  )
}

function Resources({ resources }: { readonly resources: readonly ResourceSummary[] }): JSX.Element {
  return (
    <Panel title="Resources">
      {resources.length === 0 ? (
        <Placeholder>The operator watches no resource.</Placeholder>
      ) : (
        <Table label="Resources" rows={resources} columns={columns} keyOf={({ resource }) => resource} />
      )}
    </Panel>
  )
}

function Process({ view }: { readonly view: OverviewView }): JSX.Element {
  const { queue, memory, daemons, webhooks } = view
  return (
    <Panel title="Process">
      <dl class="facts">
        <Fact name="Workers busy">{formatCount(queue.active)}</Fact>
        <Fact name="Waiting">{formatCount(queue.waiting)}</Fact>
        <Fact name="Longest wait">{formatDuration(queue.longestWaitSeconds * 1000)}</Fact>
        <Fact name="Daemons and timers">{formatCount(daemons)}</Fact>
        <Fact name="Memory">{formatBytes(memory.rssBytes)}</Fact>
        <Fact name="Heap">{formatBytes(memory.heapBytes)}</Fact>
        <Fact name="Webhooks">
          {webhooks === undefined ? (
            'none'
          ) : (
            <a href={toHash('webhooks')}>
              {webhooks.state === 'serving' ? countOf(webhooks.reviews, 'review') : 'starting'}
              {webhooks.denials > 0 && `, ${countOf(webhooks.denials, 'denial')}`}
            </a>
          )}
        </Fact>
      </dl>
    </Panel>
  )
}

function Fact(props: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  )
}
