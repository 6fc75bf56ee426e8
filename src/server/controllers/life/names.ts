/** The controllers that can be switched on, and whom each of them needs to be of use. This much is loaded in any case. */
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

/** Each is named for what it looks after. */
export type ControllerName = (typeof controllerNames)[number]

/** One that is to run, with those it needs; `all`; or with a minus one that is not to run, whoever needs it. */
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
