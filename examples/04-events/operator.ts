import { defineResource, Operator } from 'kopf'
import { z } from 'zod'

const Coffee = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Coffee',
  spec: z.object({ cups: z.int().min(1), milk: z.enum(['cow', 'oat', 'soy']).optional() }),
})

const kopf = new Operator()

kopf.on.create(Coffee, { id: 'brew' }, ({ spec, recorder }) => {
  recorder.info('Brewing', `${spec.cups} cups are on their way`)
  if (spec.cups > 10) recorder.warn('Strong', 'That is a lot of coffee')
  try {
    heatMilk(spec.milk)
  } catch (error) {
    // Posts an event of the type Error with the message of the error.
    recorder.exception(error, { reason: 'NoMilk' })
  }
})

function heatMilk(milk: string | undefined): void {
  if (milk === 'soy') throw new Error('There is no soy milk')
}

export default kopf
