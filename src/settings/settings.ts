/**
 * Creates the settings of one operator from the defaults and the options of its constructor. Startup handlers change them, other code
 * reads them at the moment of use. Every assignment of an unknown name or an invalid value throws.
 */
import { KopfError } from '../errors.ts'
import { adviseName } from '../util/option-checks.ts'
import type { Settings } from './groups.ts'
import { refusedSettings, type SettingSpec, type SettingSpecs, settingSpecs } from './schema.ts'
import type { SelectorMap, SelectorMapSource } from './selector-map.ts'

export type { Settings } from './groups.ts'

type SettingOf<V> = V extends SelectorMap ? SelectorMap | SelectorMapSource : V

/** Some of the settings, by group: `{ queueing: { workerLimit: 10 } }`. The others have their defaults. */
export type PartialSettings = {
  readonly [G in keyof Settings]?: { readonly [K in keyof Settings[G]]?: SettingOf<Settings[G][K]> }
}

type GroupName = keyof Settings
type GroupSpecs = Readonly<Record<string, SettingSpec<unknown>>>
type SettingsGroup = Record<string, unknown>

const groupNames = Object.keys(settingSpecs) as readonly GroupName[]

/** Merges the overrides into the defaults. An undefined override counts as absent. */
export function createSettings(overrides: PartialSettings = {}): Settings {
  const groups: Record<string, SettingsGroup> = {}
  for (const name of groupNames) groups[name] = createGroup(name, (settingSpecs as SettingSpecs)[name] as GroupSpecs)
  for (const [name, values] of Object.entries(asObject(overrides, 'the settings'))) {
    if (values === undefined) continue
    const group = Object.hasOwn(groups, name) ? groups[name]! : throwGroupError(name)
    fillGroup(group, asObject(values, `settings.${name}`))
  }
  return new Proxy(groups, {
    set: throwReadonlyGroup,
    defineProperty: throwReadonlyGroup,
    deleteProperty: throwReadonlyGroup,
  }) as unknown as Settings
}

/** The names that were assigned in each group, by the constructor or later. */
const assignedNames = new WeakMap<object, Set<string>>()

/** Whether the setting was assigned, possibly with its default value. */
export function isAssigned<G extends object>(group: G, name: keyof G & string): boolean {
  return assignedNames.get(group)?.has(name) ?? false
}

function fillGroup(group: SettingsGroup, values: object): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) group[name] = value
  }
}

/** Checks every write, also those of untyped JavaScript in a startup handler. Reads are not intercepted. */
function createGroup(groupName: GroupName, groupSpecs: GroupSpecs): SettingsGroup {
  const values: SettingsGroup = {}
  for (const [name, { byDefault }] of Object.entries(groupSpecs)) values[name] = byDefault()
  const assigned = new Set<string>()
  const group = new Proxy(values, {
    set(target, name, value) {
      target[name as string] = acceptValue(`${groupName}.${String(name)}`, groupSpecs, String(name), value)
      assigned.add(String(name))
      return true
    },
    defineProperty: (_, name) => throwRedefinition(groupName, name),
    deleteProperty: (_, name) => throwRedefinition(groupName, name),
  })
  assignedNames.set(group, assigned)
  return group
}

function acceptValue(path: string, groupSpecs: GroupSpecs, name: string, value: unknown): unknown {
  if (Object.hasOwn(refusedSettings, path)) throwSettingError(path, `it does not exist here: ${refusedSettings[path]}`)
  if (!Object.hasOwn(groupSpecs, name))
    throwSettingError(path, `there is no such setting${hint(name, Object.keys(groupSpecs))}`)
  const { check } = groupSpecs[name]!
  const accepted = check.accept(value)
  if (accepted !== undefined) return accepted
  const got = check.isSecret ? 'something else' : describe(value)
  return throwSettingError(path, `expected ${check.expected}, got ${got}`)
}

function throwGroupError(name: string): never {
  const owners = groupNames.filter((group) => Object.hasOwn(settingSpecs[group], name))
  const problem = 'there is no such group of settings'
  if (owners.length > 0) throwSettingError(name, `${problem}; did you mean "${owners[0]}.${name}"?`)
  return throwSettingError(name, `${problem}${hint(name, groupNames)}`)
}

function throwReadonlyGroup(_target: unknown, name: string | symbol): never {
  const path = String(name)
  if (!Object.hasOwn(settingSpecs, path)) throwGroupError(path)
  return throwSettingError(path, 'a group cannot be replaced, set its settings one by one')
}

function throwRedefinition(groupName: string, name: string | symbol): never {
  return throwSettingError(
    `${groupName}.${String(name)}`,
    'settings can only be assigned, neither deleted nor redefined',
  )
}

function throwSettingError(path: string, problem: string): never {
  throw new KopfError('KOPF_SETTINGS', `Cannot set "settings.${path}": ${problem}`)
}

function hint(name: string, known: readonly string[]): string {
  return `; ${adviseName(name, known)}`
}

function asObject(value: unknown, what: string): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new KopfError('KOPF_SETTINGS', `Cannot use ${describe(value)} as ${what}: expected an object`)
}

/** Describes objects only by their type: they may contain a password. */
function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean')
    return String(value)
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
