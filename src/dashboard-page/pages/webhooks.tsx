/** Admission and conversion reviews: numbers by handler, and the last ones with their verdicts. */
import type { JSX } from 'preact'
import type { WebhooksView } from '../../dashboard/protocol.ts'
import { useLive } from '../live.ts'
import { PageTitle, Panel, Placeholder } from '../parts/containers.tsx'
import { countOf, formatCount, formatDuration } from '../parts/format.ts'
import { Badge, ResourceName } from '../parts/state.tsx'
import { type SortableColumn, Table } from '../parts/table.tsx'
import { ClockTime, Milliseconds } from '../parts/times.tsx'

type WebhookRow = WebhooksView['handlers'][number]
type ReviewRow = WebhooksView['recent'][number]

export function WebhooksPage(): JSX.Element {
  const { data } = useLive('webhooks', '')
  if (data === undefined) return <PageTitle title="Webhooks" isLoading />
  if (data.state === 'none') {
    return (
      <>
        <PageTitle title="Webhooks" />
        <Placeholder>
          The operator has no webhooks. Handlers of <code>on.validate</code>, <code>on.mutate</code> and{' '}
          <code>on.convert</code> are shown here.
        </Placeholder>
      </>
    )
  }
  const { handlers, recent, state } = data
  return (
    <>
      <PageTitle title="Webhooks" detail={state === 'serving' ? 'serving' : 'starting'} />
      <Panel title="Handlers" note="since the start of the operator">
        <Table
          label="Webhook handlers"
          rows={handlers}
          columns={columns}
          keyOf={({ id, type }) => `${type} ${id}`}
          sortBy="Reviews"
        />
      </Panel>
      <Panel
        title="Last reviews"
        note={recent.length === 0 ? undefined : `${countOf(recent.length, 'review')}, newest first`}
      >
        {recent.length === 0 && <Placeholder>The API server has sent no review.</Placeholder>}
        <ol class="list reviews">
          {recent.map((review, index) => (
            <ReviewItem key={`${review.atMs} ${index}`} review={review} />
          ))}
        </ol>
      </Panel>
    </>
  )
}

const columns: readonly SortableColumn<WebhookRow>[] = [
  {
    name: 'Handler',
    cell: ({ id, type }) => (
      <span>
        <strong class="mono">{id}</strong> <span class="muted">{type}</span>
      </span>
    ),
    value: ({ id }) => id,
  },
  { name: 'Reviews', isNumber: true, cell: ({ reviews }) => formatCount(reviews), value: ({ reviews }) => reviews },
  { name: 'Denials', isNumber: true, cell: ({ denials }) => formatCount(denials), value: ({ denials }) => denials },
  {
    name: 'Errors',
    isNumber: true,
    cell: ({ errors }) =>
      errors === 0 ? (
        <span class="muted">0</span>
      ) : (
        <Badge tone="bad" icon="failed">
          {formatCount(errors)}
        </Badge>
      ),
    value: ({ errors }) => errors,
  },
  { name: 'p50', isNumber: true, cell: ({ p50Ms }) => <Milliseconds ms={p50Ms} />, value: ({ p50Ms }) => p50Ms },
  { name: 'p99', isNumber: true, cell: ({ p99Ms }) => <Milliseconds ms={p99Ms} />, value: ({ p99Ms }) => p99Ms },
]

function ReviewItem({ review }: { readonly review: ReviewRow }): JSX.Element {
  const { atMs, type, handler, resource, namespace, name, operation, allowed, message, durationMs } = review
  return (
    <li>
      <ClockTime atMs={atMs} /> <Verdict type={type} allowed={allowed} />{' '}
      {operation !== undefined && <span class="mono">{operation} </span>}
      {resource !== undefined && <ResourceName resource={resource} />}{' '}
      {name !== undefined && (
        <strong>
          {namespace !== undefined && `${namespace}/`}
          {name}
        </strong>
      )}{' '}
      <span class="muted">
        {handler !== undefined && <>by {handler}, </>}
        {formatDuration(durationMs)}
      </span>
      {message !== undefined && <p class={allowed === false ? 'error-text' : 'muted'}>{message}</p>}
    </li>
  )
}

function Verdict({
  type,
  allowed,
}: {
  readonly type: ReviewRow['type']
  readonly allowed: boolean | undefined
}): JSX.Element {
  if (allowed === undefined) {
    return (
      <Badge tone="idle" icon="info">
        {type === 'conversion' ? 'Converted' : 'No verdict'}
      </Badge>
    )
  }
  return allowed ? (
    <Badge tone="good" icon="handled">
      Allowed
    </Badge>
  ) : (
    <Badge tone="warn" icon="no">
      Denied
    </Badge>
  )
}
