import { ABSENT, EVERYTHING, KopfError, Operator, PRESENT } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { useLab } from '../support/lab.ts'
import { Door, refusalOf, widget } from './support.ts'

const lab = useLab()

/** Validating handlers by their ids and options; they warn of themselves. */
function operatorOf(handlers: Readonly<Record<string, object>>, kind: 'validate' | 'mutate' = 'validate'): Operator {
  const kopf = new Operator()
  for (const [id, options] of Object.entries(handlers)) {
    kopf.on[kind](lab.widgets, { id, ...options }, ({ warnings }) => void warnings.push(id))
  }
  return kopf
}

async function startWith(kopf: Operator): Promise<Door> {
  const door = new Door(lab, kopf)
  await lab.start(kopf)
  return door
}

describe('filters', () => {
  test.each<[string, object, Tree, boolean]>([
    ['a label that is so', { labels: { app: 'web' } }, { metadata: { labels: { app: 'web' } } }, true],
    ['a label that is otherwise', { labels: { app: 'web' } }, { metadata: { labels: { app: 'db' } } }, false],
    ['a label that must be there', { labels: { app: PRESENT } }, {}, false],
    ['a label that must not be there', { labels: { app: ABSENT } }, {}, true],
    ['a label by a function', { labels: { app: (app?: string) => app === undefined } }, {}, true],
    ['an annotation', { annotations: { note: 'x' } }, { metadata: { annotations: { note: 'x' } } }, true],
    ['an annotation that is missing', { annotations: { note: PRESENT } }, {}, false],
    ['a field that is there', { field: 'spec.size' }, {}, true],
    ['a field that is not there', { field: 'spec.colour' }, {}, false],
    ['a value', { field: 'spec.size', value: 1 }, {}, true],
    ['another value', { field: 'spec.size', value: 2 }, {}, false],
    ['a value by a function', { field: 'spec.size', value: (size: number) => size > 0 }, {}, true],
    ['no value', { field: 'spec.colour', value: ABSENT }, {}, true],
    ['a function', { when: ({ spec }: { spec: Tree }) => spec['size'] === 1 }, {}, true],
    ['a function of the request', { when: (args: Tree) => args['operation'] === 'DELETE' }, {}, false],
  ])('ask for %s', async (_name, options, fields, isCalled) => {
    const door = await startWith(operatorOf({ check: options }))
    const { warnings = [] } = await door.ask({ object: widget(lab, fields) })
    expect(warnings).toEqual(isCalled ? ['check'] : [])
  })

  const labelled = (labels: Tree) => ({ metadata: { labels } })
  test.each<[string, object, Tree, Tree, boolean]>([
    ['a label that is removed', { labels: { app: 'web' } }, labelled({ app: 'web' }), {}, true],
    ['a label that is changed', { labels: { app: 'web' } }, labelled({ app: 'web' }), labelled({ app: 'db' }), true],
    ['a label that is added', { labels: { app: 'web' } }, {}, labelled({ app: 'web' }), true],
    ['a label that no state has', { labels: { app: 'web' } }, labelled({ app: 'db' }), {}, false],
    ['a label that must not be there, and comes', { labels: { app: ABSENT } }, {}, labelled({ app: 'web' }), true],
    [
      'two labels that no state has together',
      { labels: { app: 'web', tier: 'front' } },
      labelled({ app: 'web' }),
      labelled({ tier: 'front' }),
      false,
    ],
    [
      'an annotation that is removed',
      { annotations: { note: 'x' } },
      { metadata: { annotations: { note: 'x' } } },
      {},
      true,
    ],
    ['a field that is removed', { field: 'spec.colour' }, { spec: { colour: 'red' } }, { spec: {} }, true],
    ['a value that is left', { field: 'spec.size', value: 1 }, { spec: { size: 1 } }, { spec: { size: 2 } }, true],
    [
      'a value that no state has',
      { field: 'spec.size', value: 3 },
      { spec: { size: 1 } },
      { spec: { size: 2 } },
      false,
    ],
    [
      'a function of a state that is left',
      { when: ({ spec }: { spec: Tree }) => spec['size'] === 1 },
      { spec: { size: 1 } },
      { spec: { size: 2 } },
      true,
    ],
    [
      'a function of a label that is left',
      { when: ({ labels, meta, body }: { labels: Tree; meta: Tree; body: Tree }) => labels['app'] && meta && body },
      labelled({ app: 'web' }),
      {},
      true,
    ],
    [
      'functions of the same request',
      { when: ({ old, new: now }: { old: Tree; new: Tree }) => old['spec'] === undefined || now['spec'] === undefined },
      { spec: { size: 1 } },
      { spec: { size: 2 } },
      false,
    ],
  ])('ask of an update for %s', async (_name, options, before, after, isCalled) => {
    const door = await startWith(operatorOf({ check: options }))
    const update = { operation: 'UPDATE', oldObject: widget(lab, before), object: widget(lab, after) }
    expect((await door.ask(update)).warnings ?? []).toEqual(isCalled ? ['check'] : [])
  })

  test('are asked of the new state first, then of the old one, and handlers are given the new one', async () => {
    const states: unknown[] = []
    const kopf = new Operator()
    const when = ({ spec, labels, old, new: now, operation }: Tree) => {
      states.push([spec, labels, (old as Tree)['spec'], (now as Tree)['spec'], operation])
      return (spec as Tree)['size'] === 1
    }
    const given: unknown[] = []
    kopf.on.mutate(lab.widgets, { id: 'check', when: when as never }, ({ body, spec, name }) => {
      given.push(body['spec'], spec, name)
    })
    const door = await startWith(kopf)
    const oldObject = widget(lab, { spec: { size: 1 }, ...labelled({ app: 'web' }) })
    await door.ask({ operation: 'UPDATE', oldObject, object: widget(lab, { spec: { size: 2 } }) })
    expect(states).toEqual([
      [{ size: 2 }, {}, { size: 1 }, { size: 2 }, 'UPDATE'],
      [{ size: 1 }, { app: 'web' }, { size: 1 }, { size: 2 }, 'UPDATE'],
    ])
    expect(given).toEqual([{ size: 2 }, { size: 2 }, 'one'])
  })

  test('look at the object that would go', async () => {
    const door = await startWith(operatorOf({ check: { labels: { app: 'web' } } }))
    const oldObject = widget(lab, { metadata: { labels: { app: 'web' } } })
    const { warnings } = await door.ask({ operation: 'DELETE', object: null, oldObject })
    expect(warnings).toEqual(['check'])
  })

  test('get all of the request but what only a call has', async () => {
    let names: string[] = []
    const door = await startWith(operatorOf({ check: { when: (args: object) => (names = Object.keys(args)) } }))
    await door.ask()
    expect(names).toEqual(
      expect.arrayContaining(['dryrun', 'userinfo', 'headers', 'sslpeer', 'old', 'new', 'diff', 'memo', 'client']),
    )
    expect(names).not.toEqual(expect.arrayContaining(['patch']))
    expect(names).not.toEqual(expect.arrayContaining(['warnings']))
  })

  test('that throw fail the review, which says whose they are, and no other review', async () => {
    const when = ({ spec }: { spec: { size: number } }) => {
      if (spec.size === 1) throw new Error('no idea')
      return true
    }
    const door = await startWith(operatorOf({ check: { when }, other: {} }))
    await expect(door.ask()).rejects.toThrow(
      `Cannot tell whether handler "check" is for "${lab.namespace}/one": its "when" filter failed: no idea`,
    )
    await expect(door.ask()).rejects.toBeInstanceOf(KopfError)
    expect(lab.logs.some((line) => line.includes('A review has failed: Cannot tell'))).toBe(true)
    expect((await door.ask({ object: widget(lab, { spec: { size: 2 } }) })).warnings).toEqual(['check', 'other'])
    expect((await door.ask({}, { webhook: 'other' })).warnings).toEqual(['other'])
  })
})

describe('subresources', () => {
  test.each([
    [undefined, ['main', 'any']],
    ['', ['main', 'any']],
    ['status', ['status', 'any']],
    ['scale', ['any']],
  ])('of a request for %j concern those that are for it', async (subResource, called) => {
    const handlers = { main: {}, status: { subresource: 'status' }, any: { subresource: '*' } }
    const door = await startWith(operatorOf(handlers))
    const { warnings } = await door.ask(subResource === undefined ? {} : { subResource })
    expect(warnings).toEqual(called)
  })
})

describe('deletions', () => {
  const deletion = () => ({ operation: 'DELETE', object: null, oldObject: widget(lab) })
  const handlers = {
    all: {},
    both: { operations: ['UPDATE', 'DELETE'] },
    only: { operations: ['DELETE'] },
    twice: { operations: ['DELETE', 'DELETE'] },
  }

  test('concern those that validate', async () => {
    const door = await startWith(operatorOf(handlers))
    expect((await door.ask(deletion())).warnings).toEqual(['all', 'both', 'only', 'twice'])
  })

  test('concern those that mutate only if they are for nothing else', async () => {
    const door = await startWith(operatorOf(handlers, 'mutate'))
    expect((await door.ask(deletion())).warnings).toEqual(['only', 'twice'])
  })
})

describe('the path of a request', () => {
  const handlers = { 'first/spec.size': {}, 'Second One': {}, third: { labels: { app: 'web' } } }

  test.each([
    ['names one by its id', 'first/spec.size', ['first/spec.size']],
    ['names one with capitals and spaces', 'Second One', ['Second One']],
    ['names one whose filters do not match', 'third', undefined],
    ['that nobody told means all', undefined, ['first/spec.size', 'Second One']],
  ])('%s', async (_name, webhook, called) => {
    const door = await startWith(operatorOf(handlers))
    const { allowed, warnings } = await door.ask({}, webhook === undefined ? {} : { webhook })
    expect({ allowed, warnings }).toEqual({ allowed: true, warnings: called })
  })

  test('names by what stands in the configuration', async () => {
    const door = await startWith(operatorOf({ 'Odd Id/ä': {} }))
    const configured = new URL(String(await configuredUrl())).pathname.replace('/base/', '')
    const { warnings } = await door.ask({}, { webhook: decodeURIComponent(configured) })
    expect(warnings).toEqual(['Odd Id/ä'])
  })

  test.each([
    ['that no handler has', 'fourth', '/fourth'],
    ['that is empty', '', '/'],
    ['that is long', 'x'.repeat(5000), `/${'x'.repeat(100)}`],
  ])('%s is not found, in the log, and no other id is in the answer', async (_name, webhook, shown) => {
    const door = await startWith(operatorOf(handlers))
    const { status, message } = await refusalOf(door.ask({}, { webhook }))
    expect(status).toBe(404)
    expect(message).toBe(
      `Cannot review widgets.v1.${lab.group}: there is no admission handler for it at the path "${shown}"; the paths of all ` +
        'handlers are in the log of the operator, at its start',
    )
    expect(lab.logs).toContain(message)
  })

  test('of a handler that is not for the subresource is allowed, as in Kopf: the subresource is a filter', async () => {
    const door = await startWith(operatorOf({ main: {}, status: { subresource: 'status' } }))
    expect((await door.ask({ subResource: 'status' }, { webhook: 'main' })).warnings).toBeUndefined()
    expect((await door.ask({ subResource: 'status' }, { webhook: 'status' })).warnings).toEqual(['status'])
  })

  test('of a handler for another resource is not found', async () => {
    const kopf = operatorOf(handlers)
    kopf.on.validate('configmaps', { id: 'elsewhere' }, () => {})
    const door = await startWith(kopf)
    expect((await refusalOf(door.ask({}, { webhook: 'elsewhere' }))).status).toBe(404)
  })

  test('does not help with resources that nobody is for', async () => {
    const door = await startWith(operatorOf(handlers))
    const resource = { group: '', version: 'v1', resource: 'pods' }
    expect(await refusalOf(door.ask({ resource }, { webhook: 'third' }))).toEqual({
      status: 404,
      message: 'Cannot review pods.v1: the operator has no admission handlers for them',
    })
  })

  /** Where the log says that the webhook is. */
  async function configuredUrl(): Promise<string | undefined> {
    await lab.untilLogged('Webhook of the validate handler')
    return lab.logs
      .find((line) => line.includes('Webhook of the validate handler'))
      ?.split(': ')
      .at(-1)
  }
})

describe('registrations', () => {
  test('of one function for several resources are called as each of them', async () => {
    const kopf = new Operator()
    const called: unknown[] = []
    function check({ resource, operation }: { resource: { plural: string }; operation: string }): void {
      called.push([resource.plural, operation])
    }
    kopf.on.validate(lab.widgets, check)
    kopf.on.validate('configmaps', check)
    const door = await startWith(kopf)
    const resource = { group: '', version: 'v1', resource: 'configmaps' }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: lab.namespace } }
    await door.ask({}, { webhook: 'check' })
    await door.ask({ resource, object }, { webhook: 'check' })
    await door.ask({ operation: 'DELETE', object: null, oldObject: widget(lab) }, { webhook: 'check' })
    expect(called).toEqual([
      ['widgets', 'CREATE'],
      ['configmaps', 'CREATE'],
      ['widgets', 'DELETE'],
    ])
  })

  test('of one function that mutates and validates need ids of their own: by the path nobody could tell them apart', () => {
    const kopf = new Operator()
    const check = () => {}
    kopf.on.validate(lab.widgets, check)
    expect(() => kopf.on.mutate(lab.widgets, check)).toThrow(
      /Cannot register a second "mutate" handler with the id "check" .*: the API server calls them by the id; give one of them/,
    )
    kopf.on.mutate(lab.widgets, { id: 'complete' }, check)
  })

  test('of everything are for everything', async () => {
    const kopf = new Operator()
    kopf.on.validate(EVERYTHING, ({ warnings, resource }) => void warnings.push(resource.plural))
    const door = await startWith(kopf)
    const resource = { group: '', version: 'v1', resource: 'pods' }
    expect((await door.ask()).warnings).toEqual(['widgets'])
    expect((await door.ask({ resource })).warnings).toEqual(['pods'])
  })

  test('of two functions under one id are refused, whatever they are for', () => {
    const kopf = new Operator()
    kopf.on.validate(lab.widgets, { id: 'check' }, () => {})
    const again = () => kopf.on.mutate(lab.widgets, { id: 'check' }, () => {})
    expect(again).toThrow(
      /Cannot register a second "mutate" handler with the id "check" .*: the API server calls them by the id/,
    )
    // What is stored under an id has nothing to do with it.
    kopf.on.create(lab.widgets, { id: 'check' }, () => {})
    kopf.on.validate('configmaps', { id: 'check' }, () => {})
  })

  test('of several operators are those of all', async () => {
    const kopf = operatorOf({ ours: {} })
    kopf.use(operatorOf({ theirs: {} }))
    kopf.use((plugin) =>
      plugin.on.mutate(lab.widgets, { id: 'plugged' }, ({ warnings }) => void warnings.push('plugged')),
    )
    const door = await startWith(kopf)
    expect((await door.ask()).warnings).toEqual(['ours', 'theirs', 'plugged'])
    expect((await door.ask({}, { webhook: 'theirs' })).warnings).toEqual(['theirs'])
  })

  test.each<[string, object, string]>([
    ['an operation that is none', { operations: ['create'] }, 'there are CREATE, UPDATE, DELETE, CONNECT'],
    ['no operation at all', { operations: [] }, 'leave it out for all of them'],
    ['operations that are no list', { operations: 'CREATE' }, '"operations" is a list such as ["CREATE", "UPDATE"]'],
    ['a subresource that is none', { subresource: 'pods/status' }, '"subresource" is a name such as "status", or "*"'],
    ['an empty subresource', { subresource: '' }, '"subresource" is a name'],
    ['a flag that is none', { persistent: 'yes' }, '"persistent" is true or false'],
    ['side effects that are no flag', { sideEffects: 1 }, '"sideEffects" is true or false'],
    ['failures that are no flag', { ignoreFailures: null }, '"ignoreFailures" is true or false'],
    ['retries', { retries: 3 }, 'it has no option "retries"'],
    ['an old value', { field: 'spec.size', old: 1 }, 'it has no option "old"'],
    ['a value of no field', { value: 1 }, '"value" needs a "field" to look at'],
    ['a misspelt option', { sideEffect: true }, 'did you mean "sideEffects"?'],
  ])('with %s are refused', (_name, options, words) => {
    for (const kind of ['validate', 'mutate'] as const) {
      expect(() => operatorOf({ check: options }, kind)).toThrow(words)
      expect(() => operatorOf({ check: options }, kind)).toThrow(`Cannot register a "${kind}" handler for widgets.v1`)
    }
  })
})
