/** Workflows of ten steps of all kinds. Bodies say what they saw of earlier outcomes. */
import { defineWorkflow } from 'perdure'
import { logged, pause } from './child.mjs'

const workMs = 3

/** A step whose outcome is the nonce of the call that was recorded. */
function work(step, name, saw) {
  return step.do(name, (context) => logged(context, () => pause(workMs), saw))
}

const sequential = defineWorkflow({ name: 'sequential' }, async ({ step }) => {
  const saw = []
  for (let i = 1; i <= 10; i++) saw.push(await work(step, `s${i}`, [...saw]))
  return saw
})

const parallel = defineWorkflow({ name: 'parallel' }, async ({ step }) => {
  const first = await work(step, 's1', [])
  const four = await Promise.all([2, 3, 4, 5].map((i) => work(step, `s${i}`, [first])))
  const sixth = await work(step, 's6', [first, ...four])
  const three = await step.map('item', [1, 2, 3], (_, context) =>
    logged(context, () => pause(workMs), [sixth]),
  )
  return [first, ...four, sixth, ...three, await work(step, 's10', three)]
})

const sleeping = defineWorkflow({ name: 'sleeping' }, async ({ step }) => {
  const saw = []
  for (let i = 1; i <= 5; i++) {
    saw.push(await work(step, `s${i}`, [...saw]))
    await step.sleep(`nap${i}`, 20)
  }
  return saw
})

const small = defineWorkflow({ name: 'small' }, async ({ input, step }) => {
  const first = await work(step, 'c1', input)
  await step.sleep('nap', 10)
  return [first, await work(step, 'c2', [...input, first])]
})

const family = defineWorkflow({ name: 'family' }, async ({ step }) => {
  const saw = [await work(step, 's1', [])]
  for (const i of [1, 2]) saw.push(...(await step.do(`child${i}`, small, [...saw])))
  saw.push(await work(step, 's2', [...saw]))
  const both = await Promise.all([3, 4].map((i) => step.do(`child${i}`, small, [...saw])))
  saw.push(...both.flat())
  for (let i = 3; i <= 6; i++) saw.push(await work(step, `s${i}`, [...saw]))
  return saw
})

const calling = defineWorkflow({ name: 'calling' }, async ({ step }) => {
  const saw = []
  for (let i = 1; i <= 4; i++) {
    saw.push(await work(step, `s${i}`, [...saw]))
    saw.push(await step.do(`call${i}`, 'remote', [...saw]))
  }
  const both = await Promise.all([5, 6].map((i) => step.do(`call${i}`, 'remote', [...saw])))
  return [...saw, ...both]
})

export const workflows = [sequential, parallel, sleeping, family, calling, small]
export const functions = { remote: (saw, context) => logged(context, () => pause(workMs), saw) }
