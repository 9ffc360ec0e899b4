// Columns of numbers from text, as ../page_data.h writes them.

const kDigitOf = (() => {
  const digits = new Uint8Array(128);
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  for (let i = 0; i < 64; ++i) digits[letters.charCodeAt(i)] = i;
  return digits;
})();

// Digits of five bits, the lowest first; the sixth bit says that there is more, the first is the sign.
// Numbers may be longer than 32 bits, so they are put together by multiplication.
function column(text) {
  const numbers = [];
  let number = 0, place = 1;
  for (let i = 0; i < text.length; ++i) {
    const digit = kDigitOf[text.charCodeAt(i)];
    number += (digit & 31) * place;
    if (digit & 32) {
      place *= 32;
      continue;
    }
    const size = Math.floor(number / 2);
    numbers.push(number % 2 ? -size : size);
    number = 0;
    place = 1;
  }
  return numbers;
}
function summed(text) {
  const numbers = column(text);
  for (let i = 1; i < numbers.length; ++i) numbers[i] += numbers[i - 1];
  return numbers;
}
