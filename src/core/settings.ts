/**
 * The settings of one operator: made from what its constructor was given, changed by its startup handlers, read by
 * everybody else at the moment of use. Refuses names it does not know and values that will not do, whenever they come.
 */
import { KopfError } from '../errors.ts'
import { suggestName } from '../util/suggestions.ts'
import { type Knob, type Knobs, knobs, type Settings } from './settings-knobs.ts'
import type { SelectorMap, SelectorMapSource } from './settings-selectors.ts'

export type { Settings } from './settings-knobs.ts'

type SettingOf<V> = V extends SelectorMap ? SelectorMap | SelectorMapSource : V

/** Any of the settings, group by group: `{ queueing: { workerLimit: 10 } }`. */
export type PartialSettings = {
  readonly [G in keyof Settings]?: { readonly [K in keyof Settings[G]]?: SettingOf<Settings[G][K]> }
}

type GroupName = keyof Settings
type GroupKnobs = Readonly<Record<string, Knob<unknown>>>
type Group = Record<string, unknown>

const groupNames = Object.keys(knobs) as readonly GroupName[]

/** The defaults, and on top of them what is given; what is undefined counts as not given. */
export function createSettings(overrides: PartialSettings = {}): Settings {
  const groups: Record<string, Group> = {}
  for (const name of groupNames) groups[name] = createGroup(name, (knobs as Knobs)[name] as GroupKnobs)
  for (const [name, values] of Object.entries(asObject(overrides, 'the settings'))) {
    if (values === undefined) continue
    const group = Object.hasOwn(groups, name) ? groups[name]! : refuseGroup(name)
    fillGroup(group, asObject(values, `settings.${name}`))
  }
  return new Proxy(groups, {
    set: refuseSettingGroup,
    defineProperty: refuseSettingGroup,
    deleteProperty: refuseSettingGroup,
  }) as unknown as Settings
}

function fillGroup(group: Group, values: object): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) group[name] = value
  }
}

/** Reads go straight to the values; writes are checked, those of plain JavaScript in a startup handler too. */
function createGroup(groupName: GroupName, groupKnobs: GroupKnobs): Group {
  const values: Group = {}
  for (const [name, { byDefault }] of Object.entries(groupKnobs)) values[name] = byDefault()
  if (groupName === 'peering') addOpposite(values, 'namespaced', 'clusterwide')
  return new Proxy(values, {
    set(target, name, value) {
      target[name as string] = acceptValue(`${groupName}.${String(name)}`, groupKnobs, String(name), value)
      return true
    },
    defineProperty: (_, name) => refuseRedefining(groupName, name),
    deleteProperty: (_, name) => refuseRedefining(groupName, name),
  })
}

/** Not enumerable: whoever copies the settings would set both, and the last one would win. */
function addOpposite(values: Group, name: string, of: string): void {
  Object.defineProperty(values, name, {
    get: () => !values[of],
    set: (value: boolean) => {
      values[of] = !value
    },
    enumerable: false,
  })
}

function acceptValue(path: string, groupKnobs: GroupKnobs, name: string, value: unknown): unknown {
  if (!Object.hasOwn(groupKnobs, name)) refuse(path, `there is no such setting${hint(name, Object.keys(groupKnobs))}`)
  const { check } = groupKnobs[name]!
  const accepted = check.accept(value)
  if (accepted !== undefined) return accepted
  const got = check.isSecret ? 'something else' : describe(value)
  return refuse(path, `expected ${check.expected}, got ${got}`)
}

function refuseGroup(name: string): never {
  const owners = groupNames.filter((group) => Object.hasOwn(knobs[group], name))
  const problem = 'there is no such group of settings'
  if (owners.length > 0) refuse(name, `${problem}; did you mean "${owners[0]}.${name}"?`)
  return refuse(name, `${problem}${hint(name, groupNames)}`)
}

function refuseSettingGroup(_target: unknown, name: string | symbol): never {
  const path = String(name)
  if (!Object.hasOwn(knobs, path)) refuseGroup(path)
  return refuse(path, 'a group cannot be replaced, set its settings one by one')
}

function refuseRedefining(groupName: string, name: string | symbol): never {
  return refuse(`${groupName}.${String(name)}`, 'settings can only be assigned, neither deleted nor redefined')
}

function refuse(path: string, problem: string): never {
  throw new KopfError('KOPF_SETTINGS', `Cannot set "settings.${path}": ${problem}`)
}

function hint(name: string, known: readonly string[]): string {
  const meant = suggestName(name, known)
  if (meant !== undefined) return `; did you mean "${meant}"?`
  return `; there are ${known.map((each) => `"${each}"`).join(', ')}`
}

function asObject(value: unknown, what: string): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new KopfError('KOPF_SETTINGS', `Cannot use ${describe(value)} as ${what}: expected an object`)
}

/** Objects only by their type: there may be a password in them. */
function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean')
    return String(value)
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
