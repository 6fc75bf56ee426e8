import { expect, test } from 'vitest'
import { chooseControllers, controllerNames } from './names.ts'

test('a controller comes with those it needs', () => {
  expect([...chooseControllers(['deployments'])]).toEqual(['deployments', 'replicasets', 'pods'])
  expect([...chooseControllers(['cronjobs', 'services'])]).toEqual(['cronjobs', 'jobs', 'pods', 'services'])
})

test('all are all', () => {
  expect([...chooseControllers('all')]).toEqual([...controllerNames])
})

test('one can be left out, whoever needs it', () => {
  expect([...chooseControllers(['-pods', 'deployments'])]).toEqual(['deployments', 'replicasets'])
  expect(chooseControllers(['all', '-pods']).has('pods')).toBe(false)
})

test('none are none', () => {
  expect(chooseControllers([]).size).toBe(0)
})

test.each(['deployment', '-pod', ''])('"%s" is refused with the names there are', (name) => {
  expect(() => chooseControllers([name as 'pods'])).toThrow(
    /there is none of that name; there are "all" of them, cronjobs, /,
  )
})
