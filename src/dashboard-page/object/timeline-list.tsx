/** The timeline of an object: groups of entries, each entry with an icon, a sentence and the fields that it changed. */
import type { ComponentChildren, JSX } from 'preact'
import type { FieldChange, JournalEntry } from '../../dashboard/protocol.ts'
import { Placeholder } from '../parts/containers.tsx'
import { countOf, formatDuration, splitResource } from '../parts/format.ts'
import { Icon, type IconName } from '../parts/icons.tsx'
import { Badge, type Tone } from '../parts/state.tsx'
import { ClockTime, Distance } from '../parts/times.tsx'
import type { CallEntry } from './test-snippet.ts'
import type { TimelineGroup } from './timeline.ts'

interface TimelineProps {
  readonly groups: readonly TimelineGroup[]
  readonly onCopy: (call: CallEntry) => void
}

export function TimelineList({ groups, onCopy }: TimelineProps): JSX.Element {
  if (groups.length === 0) {
    return <Placeholder>The journal has no entries. It begins with the start of the operator.</Placeholder>
  }
  return (
    <ol class="timeline">
      {groups.map((group) => (
        <li key={group.id} class={group.hasErrors ? 'group has-errors' : 'group'}>
          <h3>
            {group.title} <Distance atMs={group.atMs} />
          </h3>
          <ol>
            {group.entries.map((entry) => (
              <Entry key={entry.id} entry={entry} onCopy={onCopy} />
            ))}
          </ol>
        </li>
      ))}
    </ol>
  )
}

function Entry({ entry, onCopy }: { readonly entry: JournalEntry; readonly onCopy: TimelineProps['onCopy'] }) {
  switch (entry.type) {
    case 'state':
      return (
        <Line entry={entry} icon="state" tone="idle" word={entry.event === null ? 'Listed' : words[entry.event]}>
          <Changes changes={entry.changes} more={entry.moreChanges} />
        </Line>
      )
    case 'decision':
      return (
        <Line entry={entry} icon="decision" tone="idle" word="Decided">
          {entry.why}
        </Line>
      )
    case 'handler':
      return <CallLine call={entry} onCopy={onCopy} />
    case 'write':
      return (
        <Line entry={entry} icon="write" tone="busy" word="Wrote">
          <span class="muted">
            {entry.only === 'finalizer' ? 'the finalizer' : purposes[entry.purpose]},{' '}
            {countOf(entry.requests, 'request')}
          </span>
          <Changes changes={entry.changes} more={entry.moreChanges} />
        </Line>
      )
    case 'child':
      return (
        <Line
          entry={entry}
          icon="child"
          tone={entry.action === 'contention' ? 'warn' : 'busy'}
          word={childWords[entry.action]}
        >
          <span class="mono">
            {splitResource(entry.child.resource).plural} {entry.child.namespace && `${entry.child.namespace}/`}
            {entry.child.name}
          </span>
        </Line>
      )
    case 'event':
      return (
        <Line entry={entry} icon="event" tone={entry.eventType === 'Warning' ? 'warn' : 'idle'} word="Event">
          <strong>{entry.reason}</strong> {entry.message}
        </Line>
      )
    case 'daemon':
      return (
        <Line entry={entry} icon="daemon" tone="idle" word={daemonWords[entry.action]}>
          <span class="mono">{entry.handler}</span>
          {entry.latenessMs !== undefined && entry.latenessMs >= 1 && (
            <span class="muted"> {formatDuration(entry.latenessMs)} late</span>
          )}
        </Line>
      )
    case 'error':
      return (
        <Line entry={entry} icon="failed" tone="bad" word="Error">
          <p class="error-text">{entry.error}</p>
        </Line>
      )
    case 'action':
      return (
        <Line entry={entry} icon="person" tone="busy" word="Action">
          {entry.action} by {entry.user}
        </Line>
      )
    default:
      // An entry of a newer operator.
      return null
  }
}

const words = { ADDED: 'Added', MODIFIED: 'Changed', DELETED: 'Deleted' } as const
const childWords = { applied: 'Applied', deleted: 'Deleted', contention: 'Contention' } as const
const daemonWords = { started: 'Started', stopped: 'Stopped', fired: 'Fired' } as const

const purposes = {
  handling: 'results of handlers',
  checkpoint: 'results of finished handlers, while others run',
  background: 'from a daemon or timer',
  reconcile: 'from a reconciler',
} as const

const outcomes: Readonly<Record<CallEntry['outcome'], readonly [Tone, IconName, string]>> = {
  running: ['busy', 'handling', 'Running'],
  succeeded: ['good', 'done', 'Succeeded'],
  retrying: ['warn', 'retrying', 'Will retry'],
  failed: ['bad', 'failed', 'Failed'],
  cancelled: ['idle', 'no', 'Cancelled'],
}

function CallLine({ call, onCopy }: { readonly call: CallEntry; readonly onCopy: TimelineProps['onCopy'] }) {
  const { handler, handlerType, retry, outcome, durationMs, delayMs, error } = call
  const [tone, icon, word] = outcomes[outcome]
  return (
    <Line entry={call} icon={icon} tone={tone} word={word}>
      <strong class="mono">{handler}</strong>{' '}
      <span class="muted">
        {handlerType}
        {retry > 0 && `, attempt ${retry + 1}`}
        {durationMs !== undefined && `, ${formatDuration(durationMs)}`}
        {delayMs !== undefined && `, again after ${formatDuration(delayMs)}`}
      </span>
      <button
        type="button"
        class="copy"
        onClick={() => onCopy(call)}
        aria-label={`Copy the call of ${handler} as a test`}
      >
        <Icon name="copy" /> Copy as a test
      </button>
      {error !== undefined && <p class="error-text">{error}</p>}
    </Line>
  )
}

interface LineProps {
  readonly entry: JournalEntry
  readonly icon: IconName
  readonly tone: Tone
  readonly word: string
  readonly children: ComponentChildren
}

function Line({ entry, icon, tone, word, children }: LineProps): JSX.Element {
  return (
    <li class="entry">
      <ClockTime atMs={entry.atMs} />
      <Badge tone={tone} icon={icon}>
        {word}
      </Badge>
      <div class="entry-text">{children}</div>
    </li>
  )
}

const signs = { add: '+', change: '~', remove: '−' } as const
const operations = { add: 'added', change: 'changed', remove: 'removed' } as const

/** The fields with their old and new values. */
export function Changes({ changes, more }: { readonly changes: readonly FieldChange[]; readonly more: number }) {
  if (changes.length + more === 0) return null
  return (
    <ul class="changes">
      {changes.map(({ operation, path, old, new: current, by }) => (
        <li key={path} class={operation}>
          <span aria-hidden="true">{signs[operation]}</span> <span class="hidden">{operations[operation]} </span>
          <span class="path">{path}</span>
          {old !== undefined && <del>{old}</del>}
          {old !== undefined && current !== undefined && <span class="muted"> → </span>}
          {current !== undefined && <ins>{current}</ins>}
          {by !== undefined && <span class="muted"> by {by}</span>}
        </li>
      ))}
      {more > 0 && <li class="muted">and {countOf(more, 'other field')}</li>}
    </ul>
  )
}

export function EventList({ entries }: { readonly entries: readonly JournalEntry[] }): JSX.Element {
  return (
    <ul class="list">
      {entries.map(
        (entry) =>
          entry.type === 'event' && (
            <li key={entry.id}>
              <Badge
                tone={entry.eventType === 'Warning' ? 'warn' : 'idle'}
                icon={entry.eventType === 'Warning' ? 'warning' : 'info'}
              >
                {entry.eventType}
              </Badge>{' '}
              <strong>{entry.reason}</strong>{' '}
              <span class="muted">
                <Distance atMs={entry.atMs} />
              </span>
              <p>{entry.message}</p>
            </li>
          ),
      )}
    </ul>
  )
}
