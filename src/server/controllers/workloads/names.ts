/** The optional controllers and their dependencies. This file is always loaded; the controllers are loaded on demand. */
import { KopfError } from '../../../errors.ts'

export const controllerNames = [
  'cronjobs',
  'daemonsets',
  'deployments',
  'jobs',
  'persistentvolumeclaims',
  'pods',
  'replicasets',
  'serviceaccounts',
  'services',
  'statefulsets',
] as const

/** A controller, named after the resource it manages. */
export type ControllerName = (typeof controllerNames)[number]

/**
 * A controller to run together with the controllers it needs; `all`; or, with a minus, a controller to leave out even if others
 * need it.
 */
export type ControllerChoice = 'all' | ControllerName | `-${ControllerName}`

const needs: Readonly<Partial<Record<ControllerName, readonly ControllerName[]>>> = {
  cronjobs: ['jobs'],
  daemonsets: ['pods'],
  deployments: ['replicasets'],
  jobs: ['pods'],
  replicasets: ['pods'],
  statefulsets: ['pods', 'persistentvolumeclaims'],
}

export function chooseControllers(choice: 'all' | readonly ControllerChoice[]): ReadonlySet<ControllerName> {
  const words: readonly string[] = typeof choice === 'string' ? [choice] : choice
  const chosen = new Set<ControllerName>()
  for (const word of words) {
    if (word === 'all') for (const name of controllerNames) chosen.add(name)
    else if (!word.startsWith('-')) addWithNeeds(chosen, toName(word))
  }
  for (const word of words) if (word.startsWith('-')) chosen.delete(toName(word.slice(1)))
  return chosen
}

function addWithNeeds(chosen: Set<ControllerName>, name: ControllerName): void {
  chosen.add(name)
  for (const needed of needs[name] ?? []) addWithNeeds(chosen, needed)
}

function toName(word: string): ControllerName {
  const name = controllerNames.find((known) => known === word)
  if (name !== undefined) return name
  throw new KopfError(
    'KOPF_SERVER_CONTROLLERS',
    `Cannot start the controller "${word}": there is none of that name; there are "all" of them, ${controllerNames.join(', ')}, and with a minus before its name one is left out`,
  )
}
