program! { a b c }
