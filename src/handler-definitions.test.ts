import { describe, expect, test } from 'vitest'
import { createHandler, handlerDefinitions } from './handler-definitions.ts'
import type { HandlerType } from './handlers/handler-types.ts'

const types = handlerDefinitions.flatMap(({ types, category }) => Object.keys(types).map((type) => [type, category]))

describe('the definitions of handlers', () => {
  test('each handler type belongs to one category', () => {
    expect(new Set(types.map(([type]) => type)).size).toBe(types.length)
  })

  test('each category has one definition', () => {
    const categories = handlerDefinitions.map(({ category }) => category)
    expect(new Set(categories).size).toBe(categories.length)
  })

  test.each(types.filter(([type]) => type !== 'subhandler'))(
    'a handler of the type %s has the category %s',
    (type, category) => {
      const options = type === 'timer' ? { interval: 1 } : type === 'convert' ? { from: 'v1', to: 'v2' } : {}
      const handler = createHandler(
        type as HandlerType,
        'widgets',
        options,
        () => {},
        type === 'field' ? 'spec' : undefined,
      )
      expect(handler.category).toBe(category)
      expect(handler.definition.category).toBe(category)
      expect(handler.definition.types[handler.type]).toBe(handler.info)
    },
  )

  test.each(handlerDefinitions.map((definition) => [definition.category, definition] as const))(
    'the category %s says when its handlers are called, or has progress on the object',
    (category, { explain }) => {
      expect(explain !== undefined || category === 'change' || category === 'activity').toBe(true)
    },
  )

  test('an unknown handler type is refused', () => {
    expect(() => createHandler('other' as HandlerType, 'widgets', {}, () => {})).toThrow('unknown type "other"')
  })
})
