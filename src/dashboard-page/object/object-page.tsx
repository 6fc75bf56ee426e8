/** One object: its state, what happens next and why, its history, its children, events and log, and what the user may do. */
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LogRow, ObjectView } from '../../dashboard/protocol.ts'
import { useLive } from '../live.ts'
import { Dialog, PageTitle, Panel, Placeholder } from '../parts/containers.tsx'
import { countOf } from '../parts/format.ts'
import { Icon } from '../parts/icons.tsx'
import { Badge, ResourceName, StateBadge, stateMeanings } from '../parts/state.tsx'
import { ClockTime, Countdown, Distance } from '../parts/times.tsx'
import { toHash, toSearch, type ViewAddress } from '../route.ts'
import { Actions } from './actions.tsx'
import { Children } from './children.tsx'
import { HandledState, HandlerVerdicts, readExplanation, StoredProgress } from './explanation-panels.tsx'
import { type CallEntry, writeTest } from './test-snippet.ts'
import { groupTimeline } from './timeline.ts'
import { EventList, TimelineList } from './timeline-list.tsx'

export function ObjectPage({ query }: { readonly query: ViewAddress['query'] }): JSX.Element {
  const { resource = '', namespace, name = '' } = query
  const search = toSearch({ resource, namespace, name })
  const live = useLive('object', search)
  // The data of another object is not shown under this name.
  const view = live.search === search ? live.data : undefined
  return (
    <>
      <p class="crumbs">
        <a href={toHash('objects')}>Objects</a> / <a href={toHash('objects', { resource })}>{resource}</a>
        {namespace !== undefined && (
          <>
            {' '}
            / <a href={toHash('objects', { resource, namespace })}>{namespace}</a>
          </>
        )}
      </p>
      <PageTitle title={name} detail={<ResourceName resource={resource} />} isLoading={view === undefined} />
      {view !== undefined && <ObjectDetails key={search} view={view} />}
    </>
  )
}

function ObjectDetails({ view }: { readonly view: ObjectView }): JSX.Element {
  const { object, children, log, actions, timeline } = view
  const explanation = readExplanation(view.explanation)
  const events = timeline.filter(({ type }) => type === 'event')
  return (
    <>
      <div class="line">
        <StateBadge state={object.state} />
        {object.nextAtMs !== undefined && (
          <strong class="next">
            {object.state === 'retrying' ? 'next attempt' : 'next call'} <Countdown atMs={object.nextAtMs} />
          </strong>
        )}
        {object.errors > 0 && <span>{countOf(object.errors, 'failed attempt')}</span>}
        {object.changedAtMs !== undefined && (
          <span class="muted">
            changed <Distance atMs={object.changedAtMs} />
          </span>
        )}
      </div>
      <p class={object.state === 'failed' || object.state === 'retrying' ? 'error-text' : 'muted'}>
        {object.why ?? stateMeanings[object.state]}
      </p>
      <Actions object={object} actions={actions} />
      <div class="columns object-columns">
        <div class="stack">
          <Timeline view={view} />
          <Log rows={log} />
        </div>
        <div class="stack">
          {explanation === undefined ? (
            <Panel title="Handlers">
              <Placeholder>You may not get this object: its explanation and its values are not shown.</Placeholder>
            </Panel>
          ) : (
            <>
              <HandlerVerdicts explanation={explanation} />
              <HandledState explanation={explanation} />
              <StoredProgress explanation={explanation} />
            </>
          )}
          <Children rows={children} owner={object.name} />
          {events.length > 0 && (
            <Panel title="Kubernetes events">
              <EventList entries={events.toReversed()} />
            </Panel>
          )}
        </div>
      </div>
    </>
  )
}

function Timeline({ view }: { readonly view: ObjectView }): JSX.Element {
  const { timeline, dropped } = view
  const [isNewestFirst, setNewestFirst] = useState(true)
  const [isBrief, setBrief] = useState(true)
  const [call, setCall] = useState<CallEntry>()
  const groups = useMemo(() => groupTimeline(timeline, { isNewestFirst, isBrief }), [timeline, isNewestFirst, isBrief])
  const actions = (
    <span class="switches">
      <label>
        <input type="checkbox" checked={isNewestFirst} onChange={() => setNewestFirst(!isNewestFirst)} /> Newest first
      </label>
      <label>
        <input type="checkbox" checked={isBrief} onChange={() => setBrief(!isBrief)} /> Only important
      </label>
    </span>
  )
  return (
    <Panel title="Timeline" actions={actions}>
      <TimelineList groups={groups} onCopy={setCall} />
      {dropped > 0 && <p class="muted">{countOf(dropped, 'older entry', 'older entries')} left the journal.</p>}
      {call !== undefined && <SnippetDialog text={writeTest(view, call)} onClose={() => setCall(undefined)} />}
    </Panel>
  )
}

/** Shows the test before it is copied. Without access to the clipboard, the user can select it. */
function SnippetDialog({ text, onClose }: { readonly text: string; readonly onClose: () => void }): JSX.Element {
  const [shown] = useState(text)
  const area = useRef<HTMLTextAreaElement>(null)
  // Browsers put the cursor behind the text and scroll there.
  useEffect(() => area.current!.setSelectionRange(0, 0), [])
  const [result, setResult] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(shown)
      setResult('Copied.')
    } catch {
      setResult('The browser refuses the clipboard: select the text and copy it.')
    }
  }
  return (
    <Dialog title="This call as a test" onClose={onClose} wide>
      <p>
        Save it beside your operator, and run it with <code>node --test</code>. Values of Secrets are not part of it.
      </p>
      <textarea ref={area} class="snippet" readOnly spellcheck={false} rows={20} aria-label="Test" value={shown} />
      <form method="dialog" class="buttons">
        <span role="status">{result}</span>
        <button type="submit">Close</button>
        <button type="button" class="primary" onClick={() => void copy()}>
          <Icon name="copy" /> Copy
        </button>
      </form>
    </Dialog>
  )
}

const levels = { debug: 'idle', info: 'idle', warn: 'warn', error: 'bad' } as const
const levelIcons = { debug: 'info', info: 'info', warn: 'warning', error: 'failed' } as const

function Log({ rows }: { readonly rows: readonly LogRow[] }): JSX.Element {
  const [withDebug, setDebug] = useState(false)
  const shown = rows.filter(({ level }) => withDebug || level !== 'debug').toReversed()
  const actions = (
    <span class="switches">
      <label>
        <input type="checkbox" checked={withDebug} onChange={() => setDebug(!withDebug)} /> Debug lines
      </label>
    </span>
  )
  return (
    <Panel title="Log" note="of this object, newest first" actions={actions}>
      {shown.length === 0 && <Placeholder>No log line names this object.</Placeholder>}
      <ol class="log">
        {shown.map(({ atMs, level, message }, index) => (
          <li key={`${atMs} ${shown.length - index}`}>
            <ClockTime atMs={atMs} />
            <Badge tone={levels[level]} icon={levelIcons[level]}>
              {level}
            </Badge>
            <span class="message">{message}</span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
