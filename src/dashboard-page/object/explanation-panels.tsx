/** The explanation of an object: what the operator does next, which handlers it calls and why not the others, and their stored progress with steps. */
import type { JSX } from 'preact'
import { Panel, Placeholder } from '../parts/containers.tsx'
import { countOf, formatDate } from '../parts/format.ts'
import type { IconName } from '../parts/icons.tsx'
import { Badge, type Tone } from '../parts/state.tsx'
import { Countdown } from '../parts/times.tsx'
import { Changes } from './timeline-list.tsx'

type Verdict = 'now' | 'later' | 'runs' | 'done' | 'no' | 'unclear'

/** The parts of `kopf explain --output json` that the page shows. The protocol has it as unknown: it belongs to another command. */
export interface ShownExplanation {
  readonly finalizers: ReadonlyArray<{ readonly name: string; readonly isOurs: boolean }>
  readonly handled: 'never' | 'is' | 'changed'
  readonly changes: ReadonlyArray<{
    readonly operation: 'add' | 'change' | 'remove'
    readonly field: readonly string[]
    readonly old?: unknown
    readonly new?: unknown
  }>
  readonly progress: readonly ProgressRow[]
  readonly reason: string
  readonly decision: { readonly type: string; readonly reason: string }
  readonly handlers: ReadonlyArray<{
    readonly id: string
    readonly kind: string
    readonly verdict: Verdict
    readonly why: string
    readonly at?: string
  }>
  readonly notes: readonly string[]
}

interface ProgressRow {
  readonly id: string
  readonly state: 'due' | 'waiting' | 'succeeded' | 'failed'
  readonly retries: number
  readonly started?: string
  readonly delayed?: string
  readonly message?: string
}

/** Undefined if the user may not get the object, or the operator is of another version. */
export function readExplanation(value: unknown): ShownExplanation | undefined {
  const found = value as Partial<ShownExplanation> | undefined
  const lists = [found?.finalizers, found?.changes, found?.progress, found?.handlers, found?.notes]
  return lists.every(Array.isArray) && found?.decision !== undefined ? (found as ShownExplanation) : undefined
}

const verdicts: Readonly<Record<Verdict, readonly [Tone, IconName, string]>> = {
  now: ['busy', 'handling', 'Now'],
  runs: ['good', 'daemon', 'Runs'],
  later: ['warn', 'waiting', 'Later'],
  done: ['good', 'done', 'Done'],
  unclear: ['bad', 'warning', 'Unclear'],
  no: ['idle', 'no', 'No'],
}

const order = Object.keys(verdicts)

/** Handlers that are called come first; among those that are called later, the ones with a time. */
function rankOf({ verdict, at }: ShownExplanation['handlers'][number]): number {
  return verdict === 'later' && at !== undefined ? 0.5 : order.indexOf(verdict)
}

export function HandlerVerdicts({ explanation }: { readonly explanation: ShownExplanation }): JSX.Element {
  const handlers = explanation.handlers.toSorted((one, other) => rankOf(one) - rankOf(other))
  return (
    <Panel title="Handlers" note="which are called, and why not the others">
      {handlers.length === 0 && <Placeholder>No handler is registered for this resource.</Placeholder>}
      <ul class="verdicts">
        {handlers.map(({ id, kind, verdict, why, at }) => {
          const [tone, icon, word] = verdicts[verdict] ?? verdicts.unclear
          return (
            <li key={`${kind} ${id}`}>
              <Badge tone={tone} icon={icon}>
                {word}
              </Badge>
              <div>
                <strong class="mono">{id}</strong> <span class="muted">{kind}</span>
                {at !== undefined && (
                  <span>
                    {' '}
                    <Countdown atMs={Date.parse(at)} />
                  </span>
                )}
                <p>{why}</p>
              </div>
            </li>
          )
        })}
      </ul>
      {explanation.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
    </Panel>
  )
}

const progressWords: Readonly<Record<ProgressRow['state'], readonly [Tone, IconName, string]>> = {
  due: ['busy', 'handling', 'Due'],
  waiting: ['warn', 'waiting', 'Waiting'],
  succeeded: ['good', 'done', 'Succeeded'],
  failed: ['bad', 'failed', 'Failed'],
}

/** What is stored on the object: records of handlers, sub-handlers and steps. Not shown without records. */
export function StoredProgress({ explanation }: { readonly explanation: ShownExplanation }): JSX.Element | null {
  const { progress } = explanation
  if (progress.length === 0) return null
  return (
    <Panel title="Progress and steps" note="stored on the object">
      <ul class="verdicts">
        {progress.map(({ id, state, retries, started, delayed, message }) => {
          const [tone, icon, word] = progressWords[state] ?? progressWords.due
          return (
            <li key={id} class={id.includes('/') ? 'nested' : ''}>
              <Badge tone={tone} icon={icon}>
                {word}
              </Badge>
              <div>
                <strong class="mono">{id}</strong>{' '}
                <span class="muted">
                  {countOf(retries, 'attempt')}
                  {started !== undefined && `, began ${formatDate(Date.parse(started))}`}
                </span>
                {delayed !== undefined && (
                  <span>
                    {' '}
                    next <Countdown atMs={Date.parse(delayed)} />
                  </span>
                )}
                {message !== undefined && <p class={state === 'succeeded' ? 'muted' : 'error-text'}>{message}</p>}
              </div>
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}

const handledWords = {
  never: 'The object was never handled.',
  is: 'Its present state is handled.',
  changed: 'It has changed since it was handled:',
} as const

const decisions: Readonly<Record<string, string>> = {
  ignore: 'do nothing',
  'add-finalizer': 'add the finalizer',
  'remove-finalizer': 'remove the finalizer',
  wait: 'wait, because it changes too often',
  handle: 'call the handlers that are due',
}

export function HandledState({ explanation }: { readonly explanation: ShownExplanation }): JSX.Element {
  const { handled, changes, decision, reason, finalizers } = explanation
  return (
    <Panel title="State">
      <p>
        {decision.reason === 'no-handlers' ? 'No handler of changes matches this object.' : handledWords[handled]}{' '}
        {handled !== 'changed' && `The next action is to ${decisions[decision.type] ?? decision.type}.`}
      </p>
      <Changes
        more={0}
        changes={changes.slice(0, 50).map(({ operation, field, old, new: current }) => ({
          operation,
          path: field.join('.'),
          ...(old !== undefined && old !== null && { old: JSON.stringify(old).slice(0, 200) }),
          ...(current !== undefined && current !== null && { new: JSON.stringify(current).slice(0, 200) }),
        }))}
      />
      {handled === 'changed' && (
        <p>
          The reason is {reason}; the next action is to {decisions[decision.type] ?? decision.type}.
        </p>
      )}
      {finalizers.length > 0 && (
        <p class="muted">
          Finalizers: {finalizers.map(({ name, isOurs }) => `${name}${isOurs ? ' (this operator)' : ''}`).join(', ')}
        </p>
      )}
    </Panel>
  )
}
