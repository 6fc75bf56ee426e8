/** States of objects and outcomes of handlers: always an icon and a word, and a colour beside them. */
import type { ComponentChildren, JSX } from 'preact'
import type { ObjectRef, ObjectState } from '../../dashboard/protocol.ts'
import { hashOf, toHash } from '../route.ts'
import { formatCount, splitResource } from './format.ts'
import { Icon, type IconName } from './icons.tsx'

/** In the order of urgency. */
export const states: readonly ObjectState[] = ['failed', 'retrying', 'handling', 'waiting', 'deleting', 'handled']

export const stateWords: Readonly<Record<ObjectState, string>> = {
  failed: 'Failed',
  retrying: 'Retrying',
  handling: 'Handling',
  waiting: 'Waiting',
  deleting: 'Deleting',
  handled: 'Handled',
}

export const stateMeanings: Readonly<Record<ObjectState, string>> = {
  failed: 'A handler has failed permanently. It is called again when the object changes.',
  retrying: 'A handler has failed and will be called again.',
  handling: 'A handler is running now.',
  waiting: 'The object waits for a free worker.',
  deleting: 'The object is being deleted and waits for clean-up.',
  handled: 'Nothing is left to do.',
}

export type Tone = 'bad' | 'warn' | 'busy' | 'idle' | 'leave' | 'good'

export const stateTones: Readonly<Record<ObjectState, Tone>> = {
  failed: 'bad',
  retrying: 'warn',
  handling: 'busy',
  waiting: 'idle',
  deleting: 'leave',
  handled: 'good',
}

interface BadgeProps {
  readonly tone: Tone
  readonly icon: IconName
  readonly children: ComponentChildren
  readonly title?: string
}

export function Badge({ tone, icon, children, title }: BadgeProps): JSX.Element {
  return (
    <span class={`badge ${tone}`} title={title}>
      <Icon name={icon} />
      {children}
    </span>
  )
}

export function StateBadge({ state }: { readonly state: ObjectState }): JSX.Element {
  return (
    <Badge tone={stateTones[state]} icon={state} title={stateMeanings[state]}>
      {stateWords[state]}
    </Badge>
  )
}

/** One bar, divided by the numbers of objects in each state. The numbers beside it say the same. */
export function StateBar({ counts }: { readonly counts: Readonly<Record<ObjectState, number>> }): JSX.Element {
  return (
    <span class="bar" aria-hidden="true">
      {states.map((state) =>
        counts[state] === 0 ? null : <span key={state} class={stateTones[state]} style={{ flexGrow: counts[state] }} />,
      )}
    </span>
  )
}

/** The numbers of objects by state, each a link to the list of these objects. */
export function StateCounts(props: {
  readonly counts: Readonly<Record<ObjectState, number>>
  readonly resource?: string
}): JSX.Element {
  const { counts, resource } = props
  const present = states.filter((state) => counts[state] > 0)
  if (present.length === 0) return <span class="muted">no objects</span>
  return (
    <ul class="counts">
      {present.map((state) => (
        <li key={state}>
          <a class={`badge ${stateTones[state]}`} href={toHash('objects', { resource, state })}>
            <Icon name={state} />
            {formatCount(counts[state])} {stateWords[state].toLowerCase()}
          </a>
        </li>
      ))}
    </ul>
  )
}

/** A link to the page of an object. */
export function ObjectLink(props: { readonly of: ObjectRef; readonly withResource?: boolean }): JSX.Element {
  const { of, withResource = false } = props
  return (
    <a class="object-link" href={hashOf(of)}>
      {withResource && <span class="muted link-resource">{splitResource(of.resource).plural} </span>}
      {of.namespace !== undefined && <span class="muted">{of.namespace}/</span>}
      {of.name}
    </a>
  )
}

/** `databases` and, less prominent, `example.com/v1`. */
export function ResourceName({ resource }: { readonly resource: string }): JSX.Element {
  const { plural, group } = splitResource(resource)
  return (
    <span class="resource">
      {plural} <span class="muted">{group}</span>
    </span>
  )
}
